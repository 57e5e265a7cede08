/** They go into one command, of at most 16 MB; an id may have a kilobyte. */
const leadsAtOnce = 5_000;

/** Leads by crm_id, as many at a time as are asked for in one command. */
export function* leadBatches(leads: Iterable<string>): Generator<readonly string[]> {
  const crmIds = [...leads];
  for (let start = 0; start < crmIds.length; start += leadsAtOnce)
    yield crmIds.slice(start, start + leadsAtOnce);
}
