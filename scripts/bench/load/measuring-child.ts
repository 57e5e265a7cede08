import { serveCalls } from '../../load/forked-function.js';
import { checkReply } from './check-replies.js';
import { HttpConnection } from './http-connection.js';
import { runLoad } from './load-run.js';
import type { LoadPlan, Preparation } from './messages.js';
import { batchRecords, RequestBodies } from './request-bodies.js';

/*
 * Process that makes the load, so that its CPU time is not counted as the service's. It first scores every known lead
 * once, so that each has a previous score.
 */
serveCalls(async ({ gateway, source }: Preparation) => {
  const bodies = await RequestBodies.from(source);
  const connection = await HttpConnection.open(gateway, { shape: 'batch', caller: 0 });
  for (const body of bodies.ofKnownLeads('batch'))
    checkReply(await connection.call(body), { shape: 'batch', records: batchRecords });
  connection.close();
  return ({ target, ...plan }: LoadPlan) =>
    runLoad(plan, {
      groups: target.groups,
      bodies: bodies.source(plan),
      open: (caller) => HttpConnection.open(target.gateway, { shape: plan.shape, caller }),
    });
});
