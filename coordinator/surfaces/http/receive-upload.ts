import { createHash } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { ShoalError } from '../../../shared/errors.ts'
import { randomId } from '../../../shared/ids.ts'
import type { Upload } from '../../kernel/declaration/upload.ts'

/** Largest file that a call may send. */
export const UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024

export interface ReceivedUpload extends Upload {
  close(): Promise<void>
}

/**
 * Writes a body to an unlinked file in the folder, so that no file remains after a crash. Throws
 * `payload_too_large`, and `invalid_request` for an empty body.
 */
export const receiveUpload = async (
  body: Readable,
  type: string,
  folder: string,
): Promise<ReceivedUpload> => {
  const path = join(folder, `upload-${randomId()}`)
  const file = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    const { bytes, sha256 } = await writeBody(body, file)
    return { type, bytes, sha256, open: () => readFrom(file), close: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

const writeBody = async (
  body: Readable,
  file: FileHandle,
): Promise<Pick<Upload, 'bytes' | 'sha256'>> => {
  const digest = createHash('sha256')
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > UPLOAD_LIMIT_BYTES)
      throw new ShoalError(
        'payload_too_large',
        `a file may have at most ${UPLOAD_LIMIT_BYTES} bytes`,
      )
    digest.update(piece)
    await file.write(piece)
  }
  if (bytes === 0) throw new ShoalError('invalid_request', 'the file is empty')
  return { bytes, sha256: digest.digest('hex') }
}

const PIECE_BYTES = 64 * 1024

async function* readFrom(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES)
    const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
