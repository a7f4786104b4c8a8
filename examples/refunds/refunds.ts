import { defineTool } from "@sallyport/engine/tool";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

const refundInput = {
  $schema: DRAFT,
  type: "object",
  description: "What to pay back",
  properties: {
    order: { type: "string", description: "The order", pattern: "^[A-Z0-9-]{1,20}$" },
    amount: { type: "number", description: "How much", exclusiveMinimum: 0, maximum: 100_000 },
    note: { type: "string", description: "Why, for the customer", maxLength: 200 },
  },
  required: ["order", "amount"],
  additionalProperties: false,
};

const refundOutput = {
  $schema: DRAFT,
  type: "object",
  description: "What was paid back",
  properties: {
    order: { type: "string", description: "The order" },
    refunded: { type: "number", description: "Paid back for it in all" },
  },
  required: ["order", "refunded"],
  additionalProperties: false,
};

/** Pays money back: small amounts alone, larger ones with a person's yes, huge ones never. policy.yaml says which is which. */
export const refunds = defineTool({
  id: "refunds",
  version: "1.0.0",
  name: "Refunds",
  description: "Pays money back for an order.",
  category: "data_access",
  tags: ["money"],
  risk: "high",
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write"],
  operations: {
    refund: {
      description: "Pays an amount back for an order",
      summary: "Refund {amount} for order {order}[: {note}]",
      input: refundInput,
      output: refundOutput,
      run: async ({ order, amount }: { order: string; amount: number }, { state }) => {
        const refunded = Number((await state.get(order)) ?? 0) + amount;
        await state.put(order, refunded);
        return { order, refunded };
      },
    },
  },
});
