/**
 * Whether `node_modules` holds all that a lock file wants on this machine.
 *
 * npm leaves out an optional package for another system. It also leaves out all that only such packages need: these
 * name no system themselves.
 * @param {Packages} wanted the packages of package-lock.json
 * @param {Packages} installed those of node_modules/.package-lock.json
 * @param {Machine} [machine] this machine by default
 * @returns {boolean}
 *
 * @typedef {Record<string, Entry>} Packages by folder
 * @typedef {{ version?: string, integrity?: string, optional?: boolean } & Partial<Record<'os' | 'cpu' | 'libc',
 *   string[]>>} Entry and its lists of dependencies, as npm writes them
 * @typedef {{ os: string, cpu: string, libc: string | undefined }} Machine as in package.json
 */
export function holdsAll(wanted, installed, machine = thisMachine()) {
  const dependents = dependentsOf(wanted);
  const known = new Map();
  const mayLack = (folder) => {
    if (installed[folder] !== undefined || wanted[folder]?.optional !== true) return false;
    if (!known.has(folder)) {
      known.set(folder, true); // packages that depend on each other
      known.set(folder, !isFor(wanted[folder], machine) || (dependents.get(folder) ?? []).every(mayLack));
    }
    return known.get(folder);
  };
  return Object.entries(wanted).every(([folder, { integrity, version }]) => {
    if (folder === '') return true;
    const present = installed[folder];
    if (present === undefined) return mayLack(folder);
    return present.version === version && present.integrity === integrity;
  });
}

function thisMachine() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  const libc = process.platform === 'linux' ? (glibcVersionRuntime === undefined ? 'musl' : 'glibc') : undefined;
  return { os: process.platform, cpu: process.arch, libc };
}

const isFor = ({ os, cpu, libc }, machine) =>
  [
    [os, machine.os],
    [cpu, machine.cpu],
    [libc, machine.libc],
  ].every(([list, own]) => list === undefined || list.includes(own));

/** The folders of the packages that depend on each one. */
function dependentsOf(packages) {
  const dependents = new Map();
  for (const [folder, entry] of Object.entries(packages)) {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = entry;
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
    for (const name of [...Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }), ...peers]) {
      const found = nearest(packages, folder, name);
      if (found !== undefined) dependents.set(found, [...(dependents.get(found) ?? []), folder]);
    }
  }
  return dependents;
}

/** As Node searches: in the node_modules of the package itself, then in those around it. */
function nearest(packages, folder, name) {
  for (let from = folder; ; from = from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/')))) {
    const candidate = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (from === '') return undefined;
  }
}
