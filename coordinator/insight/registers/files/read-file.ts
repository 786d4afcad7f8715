import type * as z from 'zod'
import type { FileEntry, FileFormat } from './file-format.ts'
import { createCsvReader } from './read-csv.ts'
import { readJson } from './read-json.ts'
import { readYaml } from './read-yaml.ts'

/** Records of a file, one by one, until the end or a fault behind which nothing can be read. */
export async function* readFile(
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  schema: z.ZodObject,
): AsyncGenerator<FileEntry> {
  const text = decode(bytes)
  try {
    if (format === 'csv') yield* createCsvReader(schema)(text)
    else yield* format === 'yaml' ? readYaml(text) : readJson(text)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    yield { line: 1, fault: 'the file is not UTF-8' }
  }
}

async function* decode(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const piece of bytes) yield decoder.decode(piece, { stream: true })
  yield decoder.decode()
}
