/** A file of a bundle, with its name inside of the folder. */
export interface BundleFile {
  readonly name: string;
  readonly file: File;
}

/** The largest archive that the console takes. */
const maxBytes = 64 * 1024 * 1024;
const block = 512;

/**
 * Packs the files of a bundle as a gzipped tar archive. One file that is an archive already is sent as it is.
 * @throws Error that says which files to choose
 */
export async function packBundle(files: readonly BundleFile[]): Promise<Blob> {
  const [only] = files;
  if (files.length === 1 && only && /\.(tar\.gz|tgz)$/i.test(only.name)) return withinLimit(only.file);
  if (!files.some(({ name }) => name === 'manifest.json'))
    throw new Error('The files have no manifest.json. Choose the folder of the bundle, or its .tar.gz archive.');
  const parts = files.flatMap(({ name, file }) => {
    const padding = (block - (file.size % block)) % block;
    return [headerOf(name, file.size), file, new Uint8Array(padding)];
  });
  const tar = new Blob([...parts, new Uint8Array(2 * block)]);
  const packed = tar.stream().pipeThrough(new CompressionStream('gzip'));
  return withinLimit(await new Response(packed).blob());
}

function withinLimit(archive: Blob): Blob {
  if (archive.size > maxBytes)
    throw new Error('The packed bundle has more than 64 MiB. Use leadscore model import on the command line.');
  return archive;
}

/** A header of the format ustar. */
function headerOf(name: string, size: number): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(block);
  const put = (text: string, at: number): void => header.set(new TextEncoder().encode(text), at);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  const encoded = new TextEncoder().encode(name);
  if (encoded.length > 100) throw new Error(`The name of the file ${name} is too long. A bundle needs short names.`);
  put(name, 0);
  put(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size, 11)}\0${octal(0, 11)}\0`, 100);
  put('        0', 148); // the checksum counts as spaces, then the type: a file
  put('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${octal(sum, 6)}\0 `, 148);
  return header;
}

/** The files of a drop: those of a dropped folder, or the dropped files themselves. Nested folders are left out. */
export async function droppedFiles(items: DataTransferItemList): Promise<BundleFile[]> {
  // The list is emptied as soon as the event's handler returns.
  const dropped = [...items].map((item) => item.webkitGetAsEntry() ?? item.getAsFile()).filter((each) => each !== null);
  const [first] = dropped;
  const isFolder = dropped.length === 1 && first && !(first instanceof File) && first.isDirectory;
  const found = isFolder ? await entriesOf(first as FileSystemDirectoryEntry) : dropped;
  const files = found.filter((each) => each instanceof File || each.isFile);
  return await Promise.all(
    files.map((each) => (each instanceof File ? { name: each.name, file: each } : fileOf(each as FileSystemFileEntry))),
  );
}

const fileOf = (entry: FileSystemFileEntry): Promise<BundleFile> =>
  new Promise((resolve, reject) => {
    entry.file((file) => resolve({ name: entry.name, file }), reject);
  });

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // A reader returns a hundred entries at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return all;
    all.push(...some);
  }
}
