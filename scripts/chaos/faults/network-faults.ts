import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { projectFile } from '../../../shared/process/project-root.js';
import type { SeededRandom } from '../../leads/seeded-random.js';
import type { FaultProxy, RequestFate } from '../../servers/fault-proxy.js';
import { type ChaosStage, type Fault, type PlannedFault, seconds } from './fault.js';

type ServerName = 'redis' | 'mongo';

const titles = { redis: 'Redis', mongo: 'MongoDB' } as const;
const maxSilenceMs = 3_000;
/** Maximum wait for a request to lose. */
const requestTimeoutMs = 1_000;
/** The gateway with proxies. */
const proxied = 0;

export const networkFaults = (): readonly Fault[] => {
  const requests = requestsToLose();
  return [
    { part: 'network', weight: 2, plan: (random) => cut(serverOf(random)) },
    {
      part: 'network',
      weight: 2,
      plan: (random) => silence(serverOf(random), random.integer(300, maxSilenceMs)),
    },
    { part: 'network', weight: 2, plan: (random) => lose(random.pick(requests), 'lost') },
    { part: 'network', weight: 4, plan: (random) => lose(random.pick(requests), 'reply-lost') },
  ];
};

interface LosableRequest {
  readonly server: ServerName;
  readonly name: string;
  /** Identifies the request: a part of its bytes. */
  readonly text: string;
}

/** EVALSHA names a Lua script by the SHA-1 of its text. */
function requestsToLose(): readonly LosableRequest[] {
  const script = (name: string, file: string): LosableRequest => ({
    server: 'redis',
    name,
    text: createHash('sha1')
      .update(readFileSync(projectFile(file), 'utf8'))
      .digest('hex'),
  });
  return [
    script('the rate limit', 'api/request/sliding-window.lua'),
    script('a reservation', 'shared/quota/lua/reserve.lua'),
    script('a settling', 'shared/quota/lua/settle.lua'),
    { server: 'redis', name: 'a payload', text: '}:payload:' },
    { server: 'mongo', name: 'a call', text: 'request_id' },
    { server: 'mongo', name: 'a commit', text: 'commitTransaction' },
  ];
}

const serverOf = (random: SeededRandom): ServerName => random.pick(['redis', 'mongo'] as const);

const cut = (server: ServerName): PlannedFault => ({
  name: `connections of gateway ${proxied} to ${titles[server]} cut`,
  cause: async (stage) => proxyOf(stage, server).cutAll(),
});

const silence = (server: ServerName, forMs: number): PlannedFault => ({
  name: `${titles[server]} silent to gateway ${proxied} for ${seconds(forMs)}`,
  cause: async (stage) => {
    const proxy = proxyOf(stage, server);
    proxy.hold();
    await pause(forMs);
    proxy.release();
  },
});

const lose = (
  { server, name, text }: LosableRequest,
  fate: Extract<RequestFate, 'lost' | 'reply-lost'>,
): PlannedFault => ({
  name: `${fate === 'lost' ? '' : 'the reply to '}${name} of gateway ${proxied} lost`,
  cause: async (stage) => {
    const proxy = proxyOf(stage, server);
    await Promise.race([proxy.next(text, fate), pause(requestTimeoutMs)]);
    proxy.forget();
  },
});

function proxyOf({ cluster }: ChaosStage, server: ServerName): FaultProxy {
  const proxies = cluster.gateways[proxied]?.proxies;
  if (proxies === undefined) throw new Error(`gateway ${proxied} has no proxies`);
  return proxies[server];
}
