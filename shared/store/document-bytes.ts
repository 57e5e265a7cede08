/** What makes documents of calls large: a text or two a record. */
interface TextColumns {
  readonly crm_ids?: readonly (string | null)[];
  readonly fields?: readonly (string | null)[];
}

const mebibyte = 1024 * 1024;
/** MongoDB takes documents and commands of 16 MiB; what is around the texts is estimated. */
export const mostDocumentBytes = 16 * mebibyte - 64 * 1024;
/** Of one command, where it holds several documents: half of what it could, since sizes are estimated. */
export const mostTogetherBytes = 8 * mebibyte;

/** A document without its columns, and what its columns hold of a record beside texts. */
const documentOverhead = 1_024;
const recordOverhead = 64;

/** About how large a document is in BSON, and not less: its texts are counted. */
export function documentBytes(document: TextColumns): number {
  let bytes = documentOverhead;
  for (const text of document.fields ?? []) bytes += recordOverhead + Buffer.byteLength(text ?? '');
  for (const text of document.crm_ids ?? []) bytes += Buffer.byteLength(text ?? '');
  return bytes;
}

/** Documents in as many pieces as commands are needed for them, in order. */
export function inCommands<Document extends TextColumns>(
  documents: readonly Document[],
): (readonly Document[])[] {
  if (documents.length <= 1) return [documents];
  const commands: Document[][] = [];
  let command: Document[] = [];
  let together = 0;
  for (const document of documents) {
    const bytes = documentBytes(document);
    together += bytes;
    if (command.length === 0 || together > mostTogetherBytes) {
      command = [];
      commands.push(command);
      together = bytes;
    }
    command.push(document);
  }
  return commands;
}
