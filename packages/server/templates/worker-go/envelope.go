package main

// The envelope of Sallyport workers: POST /run and GET /healthz, with the standard library only.
// Every failure that is handled is HTTP 200 with an error envelope.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	maxRequestBytes = 4 << 20
	// The rest of a larger body is read and dropped up to here, so that the sender can read the answer.
	maxDroppedBytes = 64 << 20
	drainTime       = 8 * time.Second
)

// Run says which run this is. TraceHeaders are traceparent and tracestate as they came: send them with your own requests.
type Run struct {
	ToolID, RunID, TraceID, DomainID string
	TraceHeaders                     map[string]string
}

// Tool does the work. Its context ends at the deadline, and when the gateway hangs up.
type Tool func(ctx context.Context, input json.RawMessage, run Run) (any, error)

// ToolError is the way a tool says that it failed. All of it reaches the caller; any other error is INTERNAL.
// The code is UPSTREAM_ERROR, VALIDATION_ERROR, TIMEOUT or INTERNAL.
type ToolError struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details,omitempty"`
}

func (e *ToolError) Error() string { return e.Code + ": " + e.Message }

func invalid(format string, args ...any) error {
	return &ToolError{Code: "VALIDATION_ERROR", Message: fmt.Sprintf(format, args...)}
}

var (
	errLate     = &ToolError{Code: "TIMEOUT", Message: "The deadline passed.", Retryable: true}
	errInternal = &ToolError{Code: "INTERNAL", Message: "The tool failed unexpectedly."}
)

type request struct {
	Meta struct {
		TraceID    string  `json:"trace_id"`
		ToolRunID  string  `json:"tool_run_id"`
		DomainID   string  `json:"domain_id"`
		DeadlineMs float64 `json:"deadline_ms"`
		ToolID     string  `json:"tool_id"`
	} `json:"meta"`
	Input json.RawMessage `json:"input"`
}

type answerMeta struct {
	TraceID    string `json:"trace_id"`
	ToolRunID  string `json:"tool_run_id"`
	DurationMs int64  `json:"duration_ms"`
}

type answer struct {
	OK     bool            `json:"ok"`
	Meta   answerMeta      `json:"meta"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  *ToolError      `json:"error,omitempty"`
}

type worker struct {
	tools map[string]Tool
	// What the gateway sends in X-Sallyport-Worker; empty when it is not asked for.
	secret   string
	draining atomic.Bool
}

var (
	secretText = regexp.MustCompile(`^[\x21-\x7e]{16,1000}$`)
	jsonType   = regexp.MustCompile(`^(?i:application/json\s*(;\s*charset="?utf-8"?\s*)?)$`)
	hostPort   = regexp.MustCompile(`:\d+$`)
	plainName  = regexp.MustCompile(`^[a-z0-9_-]+$`)
)

// secretFrom is WORKER_SECRET, or the contents of the file that WORKER_SECRET_FILE names, or empty.
func secretFrom() (string, error) {
	text, isSet := os.LookupEnv("WORKER_SECRET")
	if file, isFile := os.LookupEnv("WORKER_SECRET_FILE"); !isSet && isFile {
		read, err := os.ReadFile(file)
		if err != nil {
			return "", errors.New("the file of WORKER_SECRET_FILE cannot be read")
		}
		text, isSet = string(read), true
	}
	text = strings.TrimSpace(text)
	if isSet && !secretText.MatchString(text) {
		return "", errors.New("WORKER_SECRET needs 16 to 1000 characters without spaces")
	}
	return text, nil
}

func isOwnHost(host string) bool {
	name := hostPort.ReplaceAllString(strings.ToLower(host), "")
	if net.ParseIP(strings.Trim(name, "[]")) != nil || plainName.MatchString(name) {
		return true
	}
	for _, known := range strings.Split(strings.ToLower(os.Getenv("WORKER_HOSTS")), ",") {
		if name != "" && strings.TrimSpace(known) == name {
			return true
		}
	}
	return false
}

// refusal says why a request is no run from the gateway: a page in a browser cannot send JSON elsewhere without asking
// first, sends an Origin, and has a Host of its own. The status is 0 when it may be one.
func (w *worker) refusal(r *http.Request) (status int, message string) {
	if r.Header.Values("Origin") != nil {
		return http.StatusForbidden, "A worker takes no requests of pages."
	}
	if w.secret == "" && !isOwnHost(r.Host) {
		return http.StatusMisdirectedRequest, "The worker is not known by this Host: name it in WORKER_HOSTS."
	}
	if !jsonType.MatchString(r.Header.Get("Content-Type")) {
		return http.StatusUnsupportedMediaType, "The content type must be application/json."
	}
	shown, known := sha256.Sum256([]byte(r.Header.Get("X-Sallyport-Worker"))), sha256.Sum256([]byte(w.secret))
	if w.secret != "" && subtle.ConstantTimeCompare(shown[:], known[:]) != 1 {
		return http.StatusUnauthorized, "X-Sallyport-Worker must be the secret of gateway and worker."
	}
	return 0, ""
}

func newHandler(w *worker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", w.run)
	mux.HandleFunc("GET /healthz", w.health)
	return mux
}

func (w *worker) health(rw http.ResponseWriter, _ *http.Request) {
	if w.draining.Load() {
		send(rw, http.StatusServiceUnavailable, map[string]bool{"ok": false})
		return
	}
	send(rw, http.StatusOK, map[string]bool{"ok": true})
}

func (w *worker) run(rw http.ResponseWriter, r *http.Request) {
	if status, message := w.refusal(r); status != 0 {
		send(rw, status, map[string]any{"ok": false, "message": message})
		return
	}
	started := time.Now()
	var req request
	result, err := w.output(r, &req)
	meta := answerMeta{id(req.Meta.TraceID), id(req.Meta.ToolRunID), time.Since(started).Milliseconds()}
	if err == nil {
		send(rw, http.StatusOK, answer{OK: true, Meta: meta, Output: result})
		return
	}
	var failed *ToolError
	if !errors.As(err, &failed) {
		// Nothing of it is told to the caller: its text may hold a path or a secret.
		log.Printf("run %s failed unexpectedly: %v", meta.ToolRunID, err)
		failed = errInternal
	}
	send(rw, http.StatusOK, answer{Meta: meta, Error: failed})
}

// output is what the tool gave, as JSON. req is filled as far as the body can be read.
func (w *worker) output(r *http.Request, req *request) (json.RawMessage, error) {
	if err := readRequest(r, req); err != nil {
		return nil, err
	}
	tool, err := w.choose(req.Meta.ToolID)
	if err != nil {
		return nil, err
	}
	if req.Meta.DeadlineMs <= float64(time.Now().UnixMilli()) {
		return nil, errLate
	}
	deadline := time.UnixMilli(int64(math.Min(req.Meta.DeadlineMs, 1<<52)))
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	return untilDone(ctx, func() (any, error) { return tool(ctx, req.Input, runOf(r, req)) })
}

func readRequest(r *http.Request, req *request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBytes+1))
	if err != nil {
		return invalid("The body could not be read.")
	}
	if len(body) > maxRequestBytes {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxDroppedBytes))
		return invalid("The body is larger than %d bytes.", maxRequestBytes)
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return invalid("The body is not JSON.")
	}
	if namesTwice(json.NewDecoder(bytes.NewReader(body))) {
		return invalid("The body names a member twice.")
	}
	if err := json.Unmarshal(body, req); err != nil {
		return invalid("The request does not fit the envelope.")
	}
	return checkRequest(req)
}

// namesTwice says whether an object of the next value names a member twice: readers differ in which one counts. For Go it
// is one member also where the names differ by case.
func namesTwice(decoder *json.Decoder) bool {
	token, _ := decoder.Token()
	opened, isOpen := token.(json.Delim)
	if !isOpen {
		return false
	}
	seen := map[string]bool{}
	for decoder.More() {
		if opened == '{' {
			token, _ := decoder.Token()
			name, _ := token.(string)
			// Upper first: a letter such as ſ has no other small one.
			name = strings.ToLower(strings.ToUpper(name))
			if seen[name] {
				return true
			}
			seen[name] = true
		}
		if namesTwice(decoder) {
			return true
		}
	}
	_, _ = decoder.Token()
	return false
}

func checkRequest(req *request) error {
	meta := req.Meta
	for name, value := range map[string]string{
		"trace_id": meta.TraceID, "tool_run_id": meta.ToolRunID, "domain_id": meta.DomainID,
	} {
		if value == "" || utf8.RuneCountInString(value) > 255 {
			return invalid("meta.%s must be a string of 1 to 255 characters.", name)
		}
	}
	if meta.DeadlineMs <= 0 {
		return invalid("meta.deadline_ms must be milliseconds since 1970.")
	}
	if !bytes.HasPrefix(req.Input, []byte("{")) {
		return invalid("input must be an object.")
	}
	return nil
}

func (w *worker) choose(id string) (Tool, error) {
	if id == "" && len(w.tools) == 1 {
		for _, only := range w.tools {
			return only, nil
		}
	}
	if tool, ok := w.tools[id]; ok {
		return tool, nil
	}
	return nil, invalid("This worker has no tool %s.", id)
}

func runOf(r *http.Request, req *request) Run {
	headers := map[string]string{}
	for _, name := range []string{"traceparent", "tracestate"} {
		if value := r.Header.Get(name); value != "" {
			headers[name] = value
		}
	}
	meta := req.Meta
	return Run{meta.ToolID, meta.ToolRunID, meta.TraceID, meta.DomainID, headers}
}

type ended struct {
	output json.RawMessage
	err    error
}

// untilDone is what the work gives, or TIMEOUT at the deadline: work that goes on after it is not waited for.
func untilDone(ctx context.Context, work func() (any, error)) (json.RawMessage, error) {
	done := make(chan ended, 1)
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				done <- ended{err: fmt.Errorf("panic: %v\n%s", reason, debug.Stack())}
			}
		}()
		value, err := work()
		if err != nil {
			done <- ended{err: err}
			return
		}
		text, err := json.Marshal(value)
		done <- ended{text, err}
	}()
	select {
	case result := <-done:
		if errors.Is(result.err, context.DeadlineExceeded) && ctx.Err() != nil {
			return nil, errLate
		}
		return result.output, result.err
	case <-ctx.Done():
		return nil, errLate
	}
}

func id(value string) string {
	if value == "" {
		return "unknown"
	}
	if runes := []rune(value); len(runes) > 255 {
		return string(runes[:255])
	}
	return value
}

func send(rw http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"ok":false}`)
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(body)
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// serve listens on WORKER_HOST (127.0.0.1) and PORT (8080) until SIGTERM or SIGINT, then lets the runs under way end.
// With the argument -health it asks the worker on PORT instead, for a container without a shell.
func serve(tools map[string]Tool) {
	port := envOr("PORT", "8080")
	if len(os.Args) > 1 && os.Args[1] == "-health" {
		answered, err := http.Get("http://127.0.0.1:" + port + "/healthz")
		if err != nil || answered.StatusCode != http.StatusOK {
			os.Exit(1)
		}
		return
	}
	secret, err := secretFrom()
	if err != nil {
		log.Fatal(err)
	}
	w := &worker{tools: tools, secret: secret}
	server := &http.Server{Handler: newHandler(w), ReadTimeout: 30 * time.Second}
	listener, err := net.Listen("tcp", net.JoinHostPort(envOr("WORKER_HOST", "127.0.0.1"), port))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("POST http://%s/run\n", listener.Addr())
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-stopped.Done()
	w.draining.Store(true)
	last, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		log.Print("runs were cut off: ", err)
	}
}
