/*
 * What the addresses among the settings may be: read strictly, since what one reader takes for a host another takes for a
 * password.
 */

/** Hosts with commas, each with its port or not: names, IPv4, [IPv6], or paths of sockets (%2Ftmp%2F...). */
const oneHost = String.raw`(?:\[[\da-f:.]+\]|(?:[^\s/?#@,:[\]%]|%[\da-f]{2})+)(?::\d{1,5})?`;
const hosts = `(?<hosts>${oneHost}(?:,${oneHost})*)`;
const userInfo = (reserved: string) => {
  const part = `(?:[^${reserved}%]|%[\\da-f]{2})*`;
  return `${part}(?::${part})?@`;
};
/** As the driver takes it apart, so that it cannot see other hosts. Azure's addresses have an @ in their options. */
const mongoAddress = [
  new RegExp(`^mongodb(\\+srv)?://${userInfo(':/?#@[\\]')}${hosts}([/?].*)?$`, 'i'),
  new RegExp(`^mongodb(\\+srv)?://${hosts}([/?][^@]*)?$`, 'i'),
];
const clusterAddress = new RegExp(`^rediss?-cluster://(${userInfo(':/@')})?${hosts}/?$`, 'i');
const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;
const encodeReserved = 'in its user and password, write : / ? # [ ] @ % as %3A %2F %3F %23 %5B %5D %40 %25';

/** What an address may be, and how to write it. */
export interface AddressKind {
  readonly protocols: readonly string[];
  readonly isRight: (text: string) => boolean;
  readonly form: string;
}

export const redisAddresses: AddressKind = {
  protocols: ['redis:', 'rediss:', 'redis-cluster:', 'rediss-cluster:', 'unix:'],
  isRight: isRedisAddress,
  form: `as redis://user:password@host:port, redis-cluster://host:port,host:port or unix:/path; ${encodeReserved}`,
};
export const mongoAddresses: AddressKind = {
  protocols: ['mongodb:', 'mongodb+srv:'],
  isRight: (text) => mongoHosts(text)?.every(hasPort) === true,
  form: `as mongodb://user:password@host:port,host:port/database?replicaSet=name; ${encodeReserved}`,
};
export const webAddresses: AddressKind = {
  protocols: ['http:', 'https:'],
  isRight: (text) => /^https?:\/\/[^?#]+$/.test(text) && parsed(text) !== undefined,
  form: 'as https://host/path, without ? and #',
};

function isRedisAddress(text: string): boolean {
  if (text.startsWith('unix:')) return /^unix:\/+[^/]/.test(text);
  const cluster = clusterAddress.exec(text.replace(/,\s+/g, ','))?.groups?.hosts;
  if (/^rediss?-cluster:/.test(text)) return cluster?.split(',').every(hasPort) === true;
  const url = /^rediss?:\/\/[^#]*$/.test(text) ? parsed(text) : undefined;
  if (url === undefined || url.hostname === '' || !/^(\/\d*)?$/.test(url.pathname)) return false;
  return !url.search.includes('@') && !/%(?![\da-f]{2})/i.test(url.username + url.password);
}

/** The hosts of an address of MongoDB; undefined when it cannot be read. */
function mongoHosts(text: string): string[] | undefined {
  for (const address of mongoAddress) {
    const found = address.exec(text)?.groups?.hosts;
    if (found !== undefined) return found.split(',');
  }
  return undefined;
}

/** Whether the port of a host, if it names one, can be one. */
const hasPort = (host: string): boolean => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) <= 65_535;

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Whether an address names this machine and no other. One of `mongodb+srv:` names hosts that only the DNS knows. */
export const isOnThisMachine = (mongoUrl: string): boolean =>
  !mongoUrl.startsWith('mongodb+srv:') &&
  mongoHosts(mongoUrl)?.every((host) => loopbackHost.test(host)) === true;
