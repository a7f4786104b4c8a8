package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func run(t *testing.T, input string) (answered answer) {
	t.Helper()
	server := httptest.NewServer(newHandler(&worker{tools: map[string]Tool{"example-worker": countWords}}))
	defer server.Close()
	meta := fmt.Sprintf(`{"trace_id":"t","tool_run_id":"r","domain_id":"d","deadline_ms":%d}`, time.Now().UnixMilli()+10_000)
	body := strings.NewReader(fmt.Sprintf(`{"meta":%s,"input":%s}`, meta, input))
	response, err := http.Post(server.URL+"/run", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answered); err != nil {
		t.Fatal(err)
	}
	return answered
}

func TestCountsWords(t *testing.T) {
	if got := string(run(t, `{"text":" two  words\n"}`).Output); got != `{"words":2}` {
		t.Fatal(got)
	}
}

func TestSaysWhatIsWrongWithAnInput(t *testing.T) {
	for _, input := range []string{`{"text":1}`, `{"text":"","Text":"two words"}`, `{"text":"","\u212A":1,"k":1}`} {
		if failed := run(t, input).Error; failed == nil || failed.Code != "VALIDATION_ERROR" {
			t.Fatal(input, failed)
		}
	}
}
