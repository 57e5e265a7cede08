import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import proxyAddr from 'proxy-addr';

/** The parts of a request that tell the address of its caller. */
export type Addressed = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** Gives the address that a request comes from. */
export type CallerAddress = (request: Addressed) => string;

/**
 * Gives the address of a caller, which is the other end of the connection. If that is a trusted proxy, X-Forwarded-For
 * is read from its end: the first address that is not a trusted proxy is the caller. Proxies append to the header, so
 * whatever the caller wrote stands before that and is never read.
 * @param trustedProxies addresses and ranges, as `10.0.0.0/8`
 * @throws TypeError for a range of `/0`: callers could then choose any address
 */
export function callerAddressBehind(trustedProxies: readonly string[]): CallerAddress {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) => {
    const entries = proxyAddr.all(request as IncomingMessage, (entry, index) => isTrusted(plainAddress(entry), index));
    // The last entry is the first one that is not trusted. Where it is no address, the proxy that wrote it
    // counts.
    return entries.map(plainAddress).findLast((entry) => entry !== '') ?? 'unknown';
  };
}

/** An IP address without port, brackets and zone, and as IPv4 where an IPv6 socket has one; '' if it is none. */
function plainAddress(entry: string | undefined): string {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(entry ?? '') ?? [];
  const [, withPort] = /^([\d.]+):\d+$/.exec(entry ?? '') ?? [];
  const address = (bracketed ?? withPort ?? entry ?? '').replace(/%.*$/, '');
  return isIP(address) === 0 ? '' : ipaddr.process(address).toString();
}

/** An IPv4 address, or the /64 of an IPv6 address: usually one caller has all of it. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const { parts } = ipaddr.IPv6.parse(address);
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}
