"""Your tool, and the program that serves it."""

from envelope import ToolError, serve


def count_words(tool_input, context):
    """Its input has passed the schema in schemas/ when a gateway sends it."""
    text = tool_input.get("text")
    if not isinstance(text, str):
        raise ToolError("VALIDATION_ERROR", "text must be a string")
    # At the deadline `cancelled` is set: look at it in whatever takes time.
    context.cancelled.wait(tool_input.get("pause_ms", 0) / 1000)
    return {"words": len(text.split())}


TOOLS = {"example-worker": count_words}

if __name__ == "__main__":
    serve(TOOLS)
