import { InputFault } from './input-fault.js';

/** A file that is no text: its name for people, and how a CSV comes out of it. */
interface FileKind {
  readonly name: string;
  readonly advice: string;
}

interface Signature extends FileKind {
  /** The first bytes, or those at `at`. */
  readonly mark: string;
  readonly at?: number;
  /** Whether a text may begin with the mark: then another byte must show that the file is none. */
  readonly mayBeText?: true;
}

const unpack = (command: string): string => `Unpack it: ${command}`;
const saveAsCsv = 'Save it as CSV in UTF-8';
const exportTable = 'Export the table that it shows as CSV in UTF-8';
const image = { name: 'an image', advice: exportTable };
const workbook = { name: 'an Excel workbook', advice: saveAsCsv };

/** Files by their first bytes. */
const signatures: readonly Signature[] = [
  { mark: '\x1f\x8b', name: 'compressed twice with gzip', advice: unpack('gzip -dc FILE > UNPACKED') },
  { mark: 'BZh', mayBeText: true, name: 'compressed with bzip2', advice: unpack('bzip2 -dc FILE > UNPACKED') },
  { mark: '\x28\xb5\x2f\xfd', name: 'compressed with Zstandard', advice: unpack('zstd -dc FILE > UNPACKED') },
  { mark: '\xfd7zXZ\0', name: 'compressed with xz', advice: unpack('xz -dc FILE > UNPACKED') },
  { mark: '7z\xbc\xaf\x27\x1c', name: 'a 7z archive', advice: unpack('7z x FILE') },
  { mark: 'Rar!\x1a\x07', name: 'a RAR archive', advice: unpack('unrar x FILE') },
  { mark: 'ustar', at: 257, mayBeText: true, name: 'a tar archive', advice: unpack('tar -xf FILE') },
  { mark: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', ...workbook },
  {
    mark: 'PAR1',
    mayBeText: true,
    name: 'a Parquet file',
    advice: `Convert it: python3 -c "import pandas; pandas.read_parquet('FILE').to_csv('leads.csv', index=False)"`,
  },
  { mark: '%PDF-', name: 'a PDF', advice: exportTable },
  { mark: '{\\rtf', name: 'a Rich Text document', advice: 'Save it as plain text in UTF-8' },
  { mark: '\x89PNG\r\n', ...image },
  { mark: '\xff\xd8\xff', ...image },
];

const zipMarks = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'] as const;
/** Names in the beginning of ZIP archives that are documents. */
const inZip: readonly (FileKind & { readonly names: RegExp })[] = [
  { names: /\[Content_Types\]\.xml|\b(?:_rels|xl|docProps)\//, ...workbook },
  {
    names: /mimetypeapplication\/vnd\.oasis\.opendocument/,
    name: 'an OpenDocument spreadsheet',
    advice: saveAsCsv,
  },
  { names: /Index\/(?:Document|Tables)\b/, name: 'a spreadsheet of Numbers', advice: saveAsCsv },
];
const scanned = 4096; // bytes

/**
 * Refuses a file that is no text, by its first bytes. A gzip file is inflated before.
 * @throws InputFault that names its kind and the command that makes a text of it
 */
export function refuseOtherKinds(bytes: Buffer): void {
  refuse(kindOf(bytes.toString('latin1', 0, scanned)));
}

/** Texts that are no table. */
const otherTexts: readonly (FileKind & { readonly beginning: RegExp })[] = [
  {
    beginning: /^\s*<(?:!--|(?:!doctype|html|head|body|meta|style|table|\?xml|div)\b)/i,
    name: 'an HTML or XML page, as some programs write it for Excel',
    advice: 'Open it in a spreadsheet and save it as CSV in UTF-8',
  },
  {
    // A client may send a form under the Content-Type of a file. This is the head of the first part.
    beginning: /^--[^\r\n]{1,200}\r?\n(?:[\w-]+:[^\r\n]*\r?\n){0,5}?Content-Disposition:\s*form-data/i,
    name: 'inside a form',
    advice: 'Send the file itself: curl -T FILE',
  },
];

/**
 * Refuses a text that is no table, by its first bytes in UTF-8 without byte order mark.
 * @throws InputFault that names its kind and the remedy
 */
export function refuseOtherTexts(bytes: Buffer): void {
  const start = bytes.toString('latin1', 0, scanned);
  refuse(otherTexts.find(({ beginning }) => beginning.test(start)));
}

function refuse(kind: FileKind | undefined): void {
  if (kind === undefined) return;
  throw new InputFault(`The file is ${kind.name} (line 1, column 1). ${kind.advice}`, { line: 1, column: 1 });
}

function kindOf(start: string): FileKind | undefined {
  if (zipMarks.some((mark) => start.startsWith(mark)))
    return inZip.find(({ names }) => names.test(start)) ?? { name: 'a ZIP archive', advice: unpack('unzip FILE') };
  return signatures.find(
    ({ mark, at = 0, mayBeText = false }) => start.startsWith(mark, at) && (!mayBeText || isBinary(start)),
  );
}

/** Whether bytes have control characters that no text has. Ctrl-Z and Escape may be in one. */
export function isBinary(latin1: string): boolean {
  for (let at = 0; at < latin1.length; at += 1) {
    const code = latin1.charCodeAt(at);
    if (code < 0x09 || (code > 0x0d && code < 0x20 && code !== 0x1a && code !== 0x1b)) return true;
  }
  return false;
}
