/**
 * The process that makes the load, so that its CPU time is not counted as the service's. Talks `load-messages.ts` with
 * the benchmark over the process channel.
 */
import { answerRequests } from './answer-requests.js';
import { checkReply } from './call-check.js';
import { HttpConnection } from './http-connection.js';
import type { GatewayAddress, Preparation } from './load-messages.js';
import { runLoad } from './load-run.js';
import { batchRecords, RequestBodies } from './request-bodies.js';
import { knownCrmIds, workloadRecords } from './workload-records.js';

interface Prepared {
  readonly bodies: RequestBodies;
  readonly gateway: GatewayAddress;
}

async function prepare({ source, modelId, gateway }: Preparation): Promise<Prepared> {
  if (gateway === undefined) throw new Error('the load generator needs the address of a gateway');
  const records = await workloadRecords(source);
  return { gateway, bodies: new RequestBodies({ modelId, records, crmIds: knownCrmIds() }) };
}

/** Has every known lead scored once, so that each has a previous score from then on. */
async function introduce({ bodies, gateway }: Prepared): Promise<void> {
  const connection = await HttpConnection.open(gateway);
  const head =
    `POST /v1/score HTTP/1.1\r\nHost: ${gateway.host}\r\nContent-Type: application/json\r\n` +
    `Authorization: Bearer ${gateway.secrets[0]}\r\n`;
  for (const body of bodies.ofKnownLeads('batch')) {
    checkReply(await connection.call(head, body), { shape: 'batch', records: batchRecords });
  }
  connection.close();
}

answerRequests({
  prepare,
  introduce,
  run: (plan, { bodies }) => runLoad(plan, bodies.source(plan)),
});
