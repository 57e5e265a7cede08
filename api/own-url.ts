import { isIPv6 } from 'node:net';

/** The address of the gateway itself, where none is configured. In an address, one of IPv6 stands in brackets. */
export const ownUrlOf = (host: string, port: number): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
