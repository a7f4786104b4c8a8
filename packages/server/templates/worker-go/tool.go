package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

type input struct {
	Text    *string `json:"text"`
	PauseMs int64   `json:"pause_ms"`
}

type output struct {
	Words int `json:"words"`
}

// countWords is your tool. Its input has passed the schema in schemas/ when a gateway sends it.
func countWords(ctx context.Context, given json.RawMessage, _ Run) (any, error) {
	var in input
	if err := json.Unmarshal(given, &in); err != nil || in.Text == nil {
		return nil, &ToolError{Code: "VALIDATION_ERROR", Message: "text must be a string"}
	}
	// Give the context to whatever takes time: it ends at the deadline.
	select {
	case <-time.After(time.Duration(in.PauseMs) * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return output{Words: len(strings.Fields(*in.Text))}, nil
}

func main() {
	serve(map[string]Tool{"example-worker": countWords})
}
