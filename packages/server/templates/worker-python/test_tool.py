import json
import time
import unittest

from envelope import answer_run
from tool import TOOLS


def run(tool_input):
    meta = {"trace_id": "t", "tool_run_id": "r", "domain_id": "d", "deadline_ms": time.time() * 1000 + 10_000}
    return json.loads(answer_run(TOOLS, json.dumps({"meta": meta, "input": tool_input}), {}))


class ToolTest(unittest.TestCase):
    def test_counts_words(self):
        self.assertEqual(run({"text": " two  words\n"})["output"], {"words": 2})

    def test_says_what_is_wrong_with_an_input(self):
        self.assertEqual(run({"text": 1})["error"]["code"], "VALIDATION_ERROR")


if __name__ == "__main__":
    unittest.main()
