import { createContext, createElement, type ReactNode, useContext } from "react";
import { type Look, lookOf } from "../look.ts";

/** What a component gives. */
export type Drawn = ReactNode;

/** Short for `createElement`: there is no JSX here. */
export const h = createElement;

/** How things look, for every component below. */
export const LookContext = createContext<Look>(lookOf({ unicode: true, colour: true }));

export function useLook(): Look {
  return useContext(LookContext);
}
