import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** What tells a caller's address. */
export type Addressed = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** Gives the address that a request comes from. */
export type CallerAddress = (request: Addressed) => string;

/**
 * Tells where a request comes from: the other end of the connection. Only where that is a balancer which is trusted does
 * X-Forwarded-For count, read from its end, where the trusted ones have written: up to the first address that is not
 * theirs. Whatever a caller puts into the header stands before that and is never read.
 * @param trustedProxies addresses and ranges, as `10.0.0.0/8`
 */
export function callerAddressBehind(trustedProxies: readonly string[]): CallerAddress {
  const trusted = blockListOf(trustedProxies);
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '');
    if (address === undefined) return 'unknown';
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    for (const entry of forwarded.reverse()) {
      if (!isTrusted(address)) return address;
      const before = plainAddress(entry.trim());
      if (before === undefined) return address;
      address = before;
    }
    return address;
  };
}

function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** An IP address without port, brackets, zone and the form in which IPv6 sockets write IPv4; undefined if it is none. */
function plainAddress(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const [, withPort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  const address = (bracketed ?? withPort ?? text).replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address;
}

const networkGroups = 4;

/** What calls of one caller share: an IPv4 address, or the /64 of an IPv6 address, which one caller has for itself. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const groupsOf = (text: string) => text.split(':').filter((group) => group !== '');
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros =
    tail === undefined
      ? []
      : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, networkGroups);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}
