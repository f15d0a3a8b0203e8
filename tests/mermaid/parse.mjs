// Reads {diagrams: [text], draw: bool} from stdin and prints, for each, what Mermaid makes of it:
// {config, nodes, arrows, groups, classes} as parsed, with draw also {shown, elements}; or {error}.
// Drawing takes seconds for hundreds of nodes.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { runInThisContext } from "node:vm";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><body></body>");
for (const name of ["document", "Element", "HTMLElement", "SVGElement", "Node", "DOMParser", "CSSStyleSheet", "getComputedStyle"]) {
  globalThis[name] = window[name];
}
globalThis.window = window;
// jsdom lays nothing out; Mermaid asks for sizes before it places what it draws.
window.SVGElement.prototype.getBBox = () => ({ x: 0, y: 0, width: 10, height: 10 });
window.SVGElement.prototype.getComputedTextLength = () => 10;

const bundle = createRequire(import.meta.url).resolve("@mermaid-js/tiny");
runInThisContext(readFileSync(bundle, "utf8"));
const { mermaid } = globalThis;
mermaid.initialize({ startOnLoad: false, logLevel: "fatal" });

// Mermaid keeps entities in this form until it draws.
// Source: decodeEntities in mermaid/src/utils.ts
function decode(label) {
  const element = window.document.createElement("p");
  element.innerHTML = label.replace(/ﬂ°°/g, "&#").replace(/ﬂ°/g, "&").replace(/¶ß/g, ";");
  return element.textContent;
}

async function parsed(text) {
  const { config } = await mermaid.parse(text);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  return {
    config,
    nodes: [...db.getVertices().values()].map(({ domId, labelType, type, props, text, ...node }) => ({
      ...node,
      label: decode(text),
    })),
    arrows: db.getEdges().map(({ start, end, stroke, text, type }) => [start, end, stroke, text, type]),
    groups: db.getSubGraphs().map(({ id, title, nodes }) => ({ id, label: decode(title), nodes })),
    classes: Object.fromEntries([...db.getClasses()].map(([name, { styles }]) => [name, styles])),
  };
}

async function drawn(text, id) {
  const { svg } = await mermaid.render(id, text);
  const picture = new JSDOM(svg).window.document.querySelector("svg");
  const texts = (selector) => [...picture.querySelectorAll(selector)].map((each) => each.textContent);
  const elements = new Set([...picture.querySelectorAll("*")].map((each) => each.tagName));
  return { shown: [texts("g.cluster"), texts("g.node")], elements: [...elements] };
}

const { diagrams, draw } = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const [number, text] of diagrams.entries()) {
  try {
    results.push({ ...(await parsed(text)), ...(draw ? await drawn(text, `d${number}`) : {}) });
  } catch (error) {
    results.push({ error: String(error) });
  }
}
process.stdout.write(JSON.stringify(results), () => process.exit());
