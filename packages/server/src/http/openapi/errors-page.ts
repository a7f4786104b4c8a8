import { CATALOGUE, type CatalogueEntry } from "@sallyport/protocol";
import { html, type Markup, prose } from "./markup.ts";
import { pageOf } from "./page-frame.ts";

const HEAD = html`<tr><th>code</th><th>meaning</th><th>what to do</th><th>who</th><th>retry</th><th>HTTP</th></tr>`;

/** Every code there is; each has an anchor, which is what the type of a problem points to. */
export function errorsPage(): string {
  const rows = Object.entries<CatalogueEntry>(CATALOGUE).map(row);
  const body = html`<h1>Errors</h1>
<p>A code keeps its meaning for good. <em>Who</em> says who can do something about it: the model by asking
differently, the program that calls, or the operator. Back to <a href="/docs">the API</a>.</p>
<table>${HEAD}${rows}</table>`;
  return pageOf({ title: "Sallyport: errors", body });
}

function row([code, entry]: [string, CatalogueEntry]): Markup {
  const { title, advice, fixer, retryable, http } = entry;
  return html`<tr id="${code}"><td><code>${code}</code></td><td>${title}</td><td>${prose(advice)}</td><td>${fixer}</td><td>${retryable ? "yes" : "no"}</td><td>${http}</td></tr>
`;
}
