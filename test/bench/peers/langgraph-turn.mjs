/* One whole turn of a LangGraph agent with its SQLite checkpointer: model → one tool call → model. Prints milliseconds. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { z } from "zod";

/** Node's own SQLite in the form the checkpointer takes, so that nothing native has to be built for it. */
class Database extends DatabaseSync {
  prepare(sql) {
    const statement = super.prepare(sql);
    const bound = (given) => given.map((value) => value ?? null);
    return {
      run: (...given) => statement.run(...bound(given)),
      get: (...given) => statement.get(...bound(given)),
      all: (...given) => statement.all(...bound(given)),
    };
  }
  pragma(text) {
    this.exec(`PRAGMA ${text}`);
  }
  transaction(work) {
    return (...given) => {
      this.exec("BEGIN");
      try {
        const result = work(...given);
        this.exec("COMMIT");
        return result;
      } catch (error) {
        this.exec("ROLLBACK");
        throw error;
      }
    };
  }
}

const turns = Number(process.argv[2] ?? 200);
const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-langgraph-"));
const database = new Database(join(folder, "checkpoints.db"));
// What survives a killed process, as in our own "process" durability.
database.pragma("journal_mode = WAL");
database.pragma("synchronous = NORMAL");
const add = tool(async ({ a, b }) => String(a + b), {
  name: "add",
  description: "Adds two numbers.",
  schema: z.object({ a: z.number(), b: z.number() }),
});

const model = async ({ messages }) => {
  const last = messages.at(-1);
  if (last?.getType() === "tool") return { messages: [new AIMessage("It is 5.")] };
  const call = { name: "add", args: { a: 2, b: 3 }, id: `call_${messages.length}`, type: "tool_call" };
  return { messages: [new AIMessage({ content: "", tool_calls: [call] })] };
};

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", model)
  .addNode("tools", new ToolNode([add]))
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => (messages.at(-1)?.tool_calls?.length ? "tools" : END))
  .addEdge("tools", "model")
  .compile({ checkpointer: new SqliteSaver(database) });

const took = [];
for (let turn = 0; turn < turns; turn += 1) {
  const started = performance.now();
  const config = { configurable: { thread_id: `t${turn}` } };
  await graph.invoke({ messages: [new HumanMessage("What is 2 + 3?")] }, config);
  took.push(performance.now() - started);
}
rmSync(folder, { recursive: true, force: true });
console.log(JSON.stringify(took));
