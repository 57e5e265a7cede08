import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import type { ConsoleService } from './console-service.js';

const csv = { 'content-type': 'text/csv' };

interface WayReply {
  readonly status: number;
  /** Without the id of the request. A refusal has `code` and `message` alone. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a CSV of outcomes. @param query its options */
export type OutcomeWay = (body: Buffer, query: string) => Promise<WayReply>;

/** Sends outcomes of an organisation as a program with a live key. */
export async function outcomesByKey(
  service: ConsoleService,
  { org, gatewayUrl }: { readonly org: string; readonly gatewayUrl: string },
): Promise<OutcomeWay> {
  const { secret } = await service.act(createKey, { org_id: org, rate_per_second: 10_000 });
  const headers = { ...csv, authorization: `Bearer ${secret}` };
  return async (body, query) => {
    const sent = { method: 'POST', body: new Uint8Array(body), headers };
    const reply = await fetch(`${gatewayUrl}/v1/outcomes?${query}`, sent);
    return { status: reply.status, body: withoutRequest(await reply.json()) };
  };
}

/** Sends outcomes of an organisation, or asks for their preview, as the page of the console. */
export async function outcomesByConsole(
  service: ConsoleService,
  { org }: { readonly org: string },
): Promise<{ readonly send: OutcomeWay; readonly preview: OutcomeWay }> {
  const admin = await service.signIn('admin', org);
  const to =
    (path: string): OutcomeWay =>
    async (body, query) => {
      const sent = { body: new Uint8Array(body), headers: csv };
      const reply = await admin('POST', `/admin/v1/orgs/${org}/outcomes${path}?${query}`, sent);
      return { status: reply.status, body: withoutRequest(reply.body) };
    };
  return { send: to(''), preview: to('/preview') };
}

function withoutRequest(body: unknown): WayReply['body'] {
  const { error, ...reply } = body as { readonly error?: { readonly code: string; readonly message: string } };
  return error === undefined ? reply : { code: error.code, message: error.message };
}
