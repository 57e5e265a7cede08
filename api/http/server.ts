import { isIPv6 } from 'node:net';

/** Hosts that stand for every address of the machine: one listens on them, and cannot be sent there. */
const everyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The address of the gateway itself, where none is configured. In an address, one of IPv6 stands in brackets. */
export function ownUrlOf(host: string, port: number): string {
  if (everyAddress.has(host)) return `http://localhost:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
