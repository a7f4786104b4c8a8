import { type Failure, failure } from "@sallyport/protocol";

/** Thrown out of generated code when the budget is used up; never leaves this module. */
export class OutOfWork extends Error {}

/** Thrown out of generated code when more issues were found than anybody reads; `errors` are certain. */
export class EnoughErrors extends Error {
  readonly errors: readonly unknown[];
  constructor(errors: readonly unknown[]) {
    super("enough errors");
    this.errors = errors;
  }
}

/** Certain errors beyond which a validation ends with EnoughErrors. */
export const ENOUGH_ERRORS = 1000;

/**
 * How much one validation may still do. One mutable number that all compiled schemas of a compiler share:
 * validation is synchronous and calls nobody else's code, so only one runs at a time.
 */
export class WorkBudget {
  left = 0;
  readonly #steps: number;

  constructor(steps: number) {
    this.#steps = steps;
  }

  begin(): void {
    this.left = this.#steps;
  }

  /** Throws OutOfWork once the budget is used up. */
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new OutOfWork("out of work");
  }

  exceeded(): Failure {
    return failure("E3916", {
      message: `Checking the value against its schema took more than ${this.#steps} steps`,
      details: { budget: this.#steps },
    });
  }
}
