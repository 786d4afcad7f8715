import { accessSync, openAsBlob, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
}

/**
 * Opens a file as the body of a request, read while it is sent. The media type follows from the file
 * name; standard input (`-`) must be JSON Lines or a JSON array.
 */
export const openUpload = async (name: string): Promise<Blob> => {
  const type = name === '-' ? 'application/json' : TYPES[extname(name).toLowerCase()]
  if (type === undefined)
    throw new ShoalError(
      'invalid_request',
      `${name} must end with one of ${Object.keys(TYPES).join(', ')}`,
    )
  try {
    if (name === '-') return new Blob([readFileSync(0)], { type })
    // openAsBlob does not say why it cannot read a file
    accessSync(name)
    return await openAsBlob(name, { type })
  } catch (cause) {
    throw createReadError(name, cause)
  }
}

/** Error for a file of the command line that cannot be read. */
export const createReadError = (name: string, cause: unknown): ShoalError => {
  const { code } = cause as NodeJS.ErrnoException
  const reason = code === 'ENOENT' ? 'there is no such file' : code
  return new ShoalError('invalid_request', `cannot read ${name}: ${reason}`, { cause })
}
