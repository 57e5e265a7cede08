/*
 * Strict checks of the addresses among the settings. Parsers disagree on malformed addresses: one takes for a host what
 * another takes for a password.
 */

/** Hosts, separated by commas, each with or without a port: names, IPv4, [IPv6] or socket paths (%2Ftmp%2F...). */
const oneHost = String.raw`(?:\[[\da-f:.]+\]|(?:[^\s/?#@,:[\]%]|%[\da-f]{2})+)(?::\d{1,5})?`;
const hosts = `(?<hosts>${oneHost}(?:,${oneHost})*)`;
const userInfo = (reserved: string) => {
  const part = `(?:[^${reserved}%]|%[\\da-f]{2})*`;
  return `${part}(?::${part})?@`;
};
/** Splits an address as MongoDB's driver does, so that both see the same hosts. Azure's options contain an @. */
const mongoAddress = [
  new RegExp(`^mongodb(\\+srv)?://${userInfo(':/?#@[\\]')}${hosts}([/?].*)?$`, 'i'),
  new RegExp(`^mongodb(\\+srv)?://${hosts}([/?][^@]*)?$`, 'i'),
];
const clusterAddress = new RegExp(`^rediss?-cluster://(${userInfo(':/@')})?${hosts}/?$`, 'i');
const encodeReserved = 'in its user and password, write : / ? # [ ] @ % as %3A %2F %3F %23 %5B %5D %40 %25';

/** One kind of address: its check, and how to write it. */
export interface AddressKind {
  readonly protocols: readonly string[];
  readonly isValid: (text: string) => boolean;
  readonly form: string;
}

export const redisAddresses: AddressKind = {
  protocols: ['redis:', 'rediss:', 'redis-cluster:', 'rediss-cluster:', 'unix:'],
  isValid: isRedisAddress,
  form: `as redis://user:password@host:port, redis-cluster://host:port,host:port or unix:/path; ${encodeReserved}`,
};
export const mongoAddresses: AddressKind = {
  protocols: ['mongodb:', 'mongodb+srv:'],
  isValid: (text) => mongoHosts(text)?.every(hasValidPort) === true,
  form: `as mongodb://user:password@host:port,host:port/database?replicaSet=name; ${encodeReserved}`,
};
export const webAddresses: AddressKind = {
  protocols: ['http:', 'https:'],
  isValid: (text) => /^https?:\/\/[^?#]+$/.test(text) && parsed(text) !== undefined,
  form: 'as https://host/path, without ? and #',
};
/** An address without a path. */
export const webOrigins: AddressKind = {
  protocols: webAddresses.protocols,
  isValid: (text) => /^https?:\/\/[^/?#]+\/*$/.test(text) && parsed(text) !== undefined,
  form: 'as https://host, without a path: pages and files are served at the root of the host alone',
};

function isRedisAddress(text: string): boolean {
  if (text.startsWith('unix:')) return /^unix:\/+[^/]/.test(text);
  const cluster = clusterAddress.exec(text.replace(/,\s+/g, ','))?.groups?.hosts;
  if (/^rediss?-cluster:/.test(text)) return cluster?.split(',').every(hasValidPort) === true;
  const url = /^rediss?:\/\/[^#]*$/.test(text) ? parsed(text) : undefined;
  if (url === undefined || url.hostname === '' || !/^(\/\d*)?$/.test(url.pathname)) return false;
  return !url.search.includes('@') && !/%(?![\da-f]{2})/i.test(url.username + url.password);
}

/** The hosts of a MongoDB address; undefined when the address is malformed. */
function mongoHosts(text: string): string[] | undefined {
  for (const address of mongoAddress) {
    const found = address.exec(text)?.groups?.hosts;
    if (found !== undefined) return found.split(',');
  }
  return undefined;
}

/** Whether a host has no port, or one up to 65535. */
const hasValidPort = (host: string): boolean => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) <= 65_535;

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
