/** Media types of files with records, by format. */
export const FORMAT_TYPES = {
  csv: 'text/csv',
  yaml: 'application/yaml',
  json: 'application/json',
  jsonl: 'application/jsonl',
} as const
export type FileFormat = keyof typeof FORMAT_TYPES

/** Format of a media type, which may have parameters. */
export const formatOfType = (type: string): FileFormat | undefined => {
  const plain = type.split(';')[0]?.trim().toLowerCase()
  return (Object.keys(FORMAT_TYPES) as FileFormat[]).find(name => FORMAT_TYPES[name] === plain)
}

/** Largest text of one record in a file, in characters. */
export const MAX_RECORD_CHARS = 64 * 1024

/** One record of a file as it was read, or the fault in its place. `line` counts from 1. */
export type FileEntry =
  | { line: number; value: unknown; fault?: never }
  | { line: number; fault: string; value?: never }
