import { openAsBlob, readFileSync } from 'node:fs'
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
    return name === '-' ? new Blob([readFileSync(0)], { type }) : await openAsBlob(name, { type })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('invalid_request', `cannot read ${name} (${code})`, { cause })
  }
}
