// Plays what it is told on standard input, one JSON object a line, with nats.js; answers each line when it is done.
import { createInterface } from "node:readline";
import { connect, headers, nanos } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const [url, user, pass] = process.argv.slice(2);
let nc;
let js;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const payload = (step) => step.data ? JSON.stringify(step.data) : new Uint8Array(step.size ?? 4);
const head = (step) => {
  if (!step.headers) return undefined;
  const h = headers();
  for (const [name, value] of Object.entries(step.headers)) h.set(name, value);
  return h;
};

async function settle(message, action) {
  if (action === "nak") message.nak();
  else if (action === "term") message.term();
  else if (action === "progress") { message.working(); message.ack(); }
  else if (action === "ack") message.ack();
}

const steps = {
  async connect(step) {
    nc = await connect({ servers: url, user: step.user ?? user, pass: step.pass ?? pass, name: step.name,
      reconnect: false, noEcho: false });
    js = jetstream(nc, { timeout: step.timeout ?? 5000 });
  },
  async publish(step) {
    await js.publish(step.subject, payload(step), { headers: head(step), timeout: step.timeout ?? 5000, retries: 0 });
  },
  async core(step) { nc.publish(step.subject, payload(step), { reply: step.reply }); },
  async listen(step) { nc.subscribe(step.subject, { callback: () => {} }); },
  async request(step) {
    const data = step.data ? JSON.stringify(step.data) : "";
    await nc.request(step.subject, data, { timeout: step.timeout ?? 5000 });
  },
  async fetch(step) {
    const consumer = await js.consumers.get(step.stream, step.consumer);
    const iterator = await consumer.fetch({ max_messages: step.batch, expires: Math.max(step.expires, 1000) });
    const messages = [];
    for await (const message of iterator) {
      messages.push(message);
      if (messages.length === step.batch) break;
    }
    await pause(step.delay ?? 0);
    for (const message of messages) await settle(message, step.action);
  },
  async push(step) {
    const consumer = await js.consumers.getPushConsumer(step.stream, step.consumer);
    await consumer.consume({ callback: (message) => { setTimeout(() => settle(message, step.action), step.delay ?? 0); } });
  },
  async flush() { await nc.flush(); },
  async close() { await nc.close(); },
};

for await (const line of createInterface({ input: process.stdin })) {
  const step = JSON.parse(line);
  let problem = "";
  for (let number = 0; number < (step.times ?? 1); number++) {
    try { await steps[step.do](step); } catch (error) { problem = String(error); }
  }
  process.stdout.write(JSON.stringify({ done: step.do, problem }) + "\n");
}
process.exit(0);
