import { Text, useAnimation } from "ink";
import { type Drawn, h, useLook } from "./element.ts";

const FRAME_MS = 100;

/** Turns as long as something is under way. */
export function Spinner(): Drawn {
  const { glyphs, paint } = useLook();
  const { frame } = useAnimation({ interval: FRAME_MS });
  return h(Text, paint("accent"), glyphs.spinner[frame % glyphs.spinner.length]);
}
