import type { Header } from 'tar-stream';
import { BundleError } from './bundle-error.js';

/**
 * Decides where the entries of an archive belong. A bundle is flat: its files lie at the top or, as
 * `tar czf x.tar.gz folder` packs them, all in one folder.
 */
export class ArchiveLayout {
  /** Files that macOS adds beside each one packed; they are nobody's members. */
  readonly ignored: string[] = [];
  readonly #directories = new Set<string>();
  #folder: string | undefined;

  /**
   * @param header an entry's header
   * @returns the file's name within the bundle; undefined for a folder or a file to pass over
   * @throws BundleError for links, devices, paths that lead elsewhere and folders within the folder
   */
  place(header: Header): string | undefined {
    const path = header.name;
    const parts = safeParts(path);
    const file = parts.at(-1);
    if (header.type === 'directory') {
      if (parts.length > 1) throw new BundleError(path, 'is a folder within the bundle, which must be flat');
      if (file !== undefined) this.#directories.add(file);
      return undefined;
    }
    if (header.type !== 'file') {
      throw new BundleError(path, `is a ${header.type}; only regular files are allowed`);
    }
    if (file === undefined) throw new BundleError(path, 'has no file name');
    if (file.startsWith('._')) {
      this.ignored.push(file);
      return undefined;
    }
    if (parts.length > 2) throw new BundleError(path, 'lies in a nested folder; a bundle must be flat');
    const folder = parts.length === 2 ? (parts[0] ?? '') : '';
    this.#folder ??= folder;
    if (folder !== this.#folder) {
      throw new BundleError(path, `lies beside the folder of the other files; a bundle must be flat`);
    }
    return file;
  }

  /**
   * To be called after the last entry.
   * @throws BundleError when the archive has a folder that is not the one around its files
   */
  close(): void {
    for (const directory of this.#directories) {
      if (directory !== this.#folder) {
        throw new BundleError(directory, 'is a folder beside the files of the bundle, which must be flat');
      }
    }
  }
}

function safeParts(path: string): string[] {
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) throw new BundleError(path, 'is an absolute path');
  if (/[\\\0]/.test(path)) throw new BundleError(path, 'has a backslash or a NUL in its path');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new BundleError(path, 'leads out of the archive');
  return parts;
}
