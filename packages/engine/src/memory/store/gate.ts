import { failure, SallyportError } from "@sallyport/protocol";

/** Open until shut, then every entry throws E3914; it never opens again. */
export class Gate {
  #shut = false;

  shut(): void {
    this.#shut = true;
  }

  enter(): void {
    if (!this.#shut) return;
    throw new SallyportError(failure("E3914", { message: "The store has been closed." }));
  }
}
