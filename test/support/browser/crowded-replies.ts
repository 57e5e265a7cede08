import type { Page, Route } from 'playwright-core';

/** Entries of each list: more than a page shows at first. */
const many = 60;
const times = 12_345;
/** Part of each name. */
export const longName = 'Leads of the northern sales region in the third quarter, second attempt';
const unbroken = 'Wholesale_customers_without_a_representative';

/** Lists that have an entry for each of some things of which an organisation may have many. */
const lists = new Set([
  ...['models', 'keys', 'jobs', 'calls', 'audit', 'entries', 'versions', 'fields', 'leads', 'newest', 'highest'],
  ...['changed', 'scores', 'sessions', 'members', 'organisations', 'deletions', 'quarantine', 'strikes', 'sweeps'],
  ...['events', 'notices', 'unseen_values'],
]);
const isId = (member: string): boolean => /_id$|^(field|version)$/.test(member);
const isName = (member: string): boolean => /^(name|model_name|key_name|person|label|sentence)$/.test(member);
const isCount = (member: string): boolean =>
  /^(records|calls|refused|current|limit|backstop|remaining|used|rows|records_this_month|calls_this_month|live|test)$/.test(
    member,
  );

const at = new Date().toISOString();
/** An entry of each list that is empty in the organisation of the test. */
const samples: Readonly<Record<string, object>> = {
  calls: {
    ...{ at, key_id: 'key_a', key_name: 'HubSpot', code: 'rate_limited', status: 429, route: 'POST /v1/score' },
    ...{
      request_id: 'request',
      remedy: 'Wait as many seconds as the header retry-after says, or ask for a higher rate.',
    },
  },
  quarantine: { model_id: 'mdl_a', version: '2026.11.0', until: at },
  strikes: { model_id: 'mdl_a', version: '2026.11.0', deaths: 3, last_at: at },
  sweeps: { at, took_ms: 12_345, settled: 1_234, released: 12, recounted: 3, failed: 1 },
  deletions: {
    ...{ org_id: 'org_a', state: 'pending', requested_at: at, by: longName, due_at: at },
    ...{ removed: { calls: times }, records: [{ month: '2026-11', live: times, test: times }] },
  },
  members: { member_id: 'mem_a', email: `${unbroken}@example.com`, role: 'admin', bound: false, created_at: at },
};

/** A reply with many entries, long names and large numbers. The first entry of each list keeps its ids. */
function crowded(value: unknown, member = '', round = 0): unknown {
  if (Array.isArray(value)) {
    if (!lists.has(member)) return value.map((each) => crowded(each, member, round));
    const sample = samples[member];
    const entries: unknown[] = value.length > 0 || sample === undefined ? value : [sample];
    return Array.from({ length: entries.length === 0 ? 0 : Math.max(many, entries.length) }, (_, index) =>
      crowded(entries[index % entries.length], member, Math.floor(index / entries.length)),
    );
  }
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, crowded(each, name, round)]));
  if (typeof value === 'string' && isId(member) && round > 0) return `${value}_${round}`;
  if (typeof value === 'string' && isName(member)) return `${longName} ${unbroken} ${value}`;
  if (typeof value === 'number' && isCount(member)) return value * times;
  if (member === 'is_current') return value === true && round === 0;
  // The page of settings has its members then.
  return member === 'oidc' ? true : value;
}

/** Replies without any entries, of pages that have no organisation of their own. */
const emptied = (value: unknown): unknown => {
  if (Array.isArray(value)) return [];
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, emptied(each)]));
};

/** Changes each reply to the open page, but not those about its session. */
export async function changeReplies(page: Page, how: 'crowded' | 'emptied'): Promise<void> {
  const isOfPage = (url: URL) => url.pathname.startsWith('/admin/v1/') && !/\/(session|standing)$/.test(url.pathname);
  await page.route(isOfPage, async (route: Route) => {
    // The console knows the versions and ids without the numbers that `crowded` appends.
    const response = await route.fetch({
      url: route
        .request()
        .url()
        .replace(/_\d+(?=&|$)/, ''),
    });
    const json: unknown = await response.json();
    await route.fulfill({ response, json: how === 'crowded' ? crowded(json) : emptied(json) });
  });
}
