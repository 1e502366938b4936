// Prints replies of the JetStream API as nats.js programs do: node show.mjs URL, then ORDERS and its consumer billing.
import { connect } from "@nats-io/transport-node";
import { jetstreamManager } from "@nats-io/jetstream";

const url = new URL(process.argv[2]);
const nc = await connect({ servers: url.host, user: url.username, pass: url.password });
const jsm = await jetstreamManager(nc);
const shown = {
  consumer: () => jsm.consumers.info("ORDERS", "billing"),
  consumers: () => jsm.consumers.list("ORDERS").next(),
  stream: () => jsm.streams.info("ORDERS"),
  account: () => jsm.getAccountInfo(),
};
console.log(await shown[process.argv[3]]());
await nc.close();
