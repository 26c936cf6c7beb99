// A memory service in another language: BM25's poor cousin, a session a list. `node memory_service.mjs fork|none|id|settle|forget`
// id: its fork keeps the id of the session that it was to copy, as a service does that has no copies.
// settle: what was written is found only after the route `settle`.
// forget: sentences about a matter that the user wants forgotten are dropped; it has no fork.
import { createServer } from "node:http";

const sessions = new Map();
const alias = new Map();
const lines = (id) => { const own = alias.get(id) ?? id; if (!sessions.has(own)) sessions.set(own, []); return sessions.get(own); };
const routes = {
  "/write": ({ session, events }) => { lines(session).push(...events.map((event) => `${event.kind}: ${event.text}`)); return {}; },
  "/recall": ({ session, query }) => {
    const wanted = new Set(query.toLowerCase().match(/\w+/g));
    const shared = (line) => (line.toLowerCase().match(/\w+/g) ?? []).filter((word) => wanted.has(word)).length;
    return { texts: lines(session).filter((line) => shared(line) > 0).slice(-40) };
  },
  "/fork": ({ session, into }) => { sessions.set(into, [...lines(session)]); return {}; },
};
if (process.argv[2] === "none") delete routes["/fork"];
if (process.argv[2] === "id") routes["/fork"] = ({ session, into }) => { alias.set(into, alias.get(session) ?? session); return {}; };
if (process.argv[2] === "forget") {
  delete routes["/fork"];
  routes["/forget"] = ({ session, event }) => {
    const matters = [...event.text.matchAll(/forget my ([^,.]+?)(?:,| for good)/g)].map((found) => found[1].toLowerCase());
    const kept = (sentence) => !matters.some((matter) => sentence.toLowerCase().includes(matter));
    sessions.set(session, lines(session).map((line) => line.split(/(?<=[.!?]) /).filter(kept).join(" ")));
    return {};
  };
}
if (process.argv[2] === "settle") {
  delete routes["/fork"];
  const write = routes["/write"];
  const waiting = new Map();
  routes["/write"] = (body) => { waiting.set(body.session, [...(waiting.get(body.session) ?? []), body]); return {}; };
  routes["/settle"] = ({ session }) => { (waiting.get(session) ?? []).forEach(write); waiting.delete(session); return {}; };
}

const server = createServer(async (request, response) => {
  const route = routes[request.url];
  const parts = [];
  for await (const part of request) parts.push(part);
  response.writeHead(route ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify(route ? route(JSON.parse(Buffer.concat(parts).toString())) : { error: "no such route" }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
