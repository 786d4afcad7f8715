import { wait as realWait, type Wait } from '../../../shared/wait.ts'
import { restartMs } from '../../backoff.ts'
import type { Clock } from '../clock.ts'
import { rememberDigest } from '../weights.ts'
import type { AddressGuard } from './address-guard.ts'
import { DownloadError } from './download-error.ts'
import { PartFile } from './part-file.ts'
import { type PartAnswer, requestPart, UnusablePart } from './request-part.ts'

interface Download {
  url: URL
  authorization?: string | undefined
  /** Creates the guard of one request and its redirects. */
  createGuard: () => AddressGuard
  /** Path of the finished file; the partial file lies beside it. */
  file: string
  /** Expected digest; absent when it is unknown. */
  sha256: string | undefined
  stallSeconds: number
  clock: Clock
  /** Runs before the body is read; rejects when there is not enough disk space. */
  makeRoom: (size: { totalBytes: number; haveBytes: number }) => Promise<void>
  onProgress: (bytes: number, totalBytes: number) => void
  signal: AbortSignal
  wait?: Wait
}

/** Tries in a row that bring nothing. */
const MAX_FAILURES = 5

/**
 * Fetches weights. A connection that breaks is taken up again where it broke, after 1, 2, 4 and 8
 * seconds, and so is a download that an earlier life of the daemon has begun. What has another
 * digest than promised is deleted.
 *
 * @throws DownloadError; what has come so far is kept when it can be used later, unless the disk is
 *   full
 */
export const download = async (order: Download): Promise<void> => {
  const { file, sha256, signal, url, wait = realWait } = order
  // A power loss can leave the end of a partial file empty, which only a digest reveals
  const part = await PartFile.open(file, sha256 !== undefined, signal)
  let kept = false
  let promised: string | undefined
  try {
    for (let failures = 0; ; ) {
      const before = part.bytes
      try {
        promised = await attempt(part, order)
        break
      } catch (error) {
        // Everything else on the machine needs the disk more than a part does
        if (isFull(error)) await part.remove()
        if (signal.aborted || isFinal(error)) throw explainError(error)
        failures = part.bytes > before ? 1 : failures + 1
        if (failures >= MAX_FAILURES) throw createFetchError(url, error)
        if (error instanceof UnusablePart) await part.restart()
        await wait(restartMs(failures - 1), signal)
      }
    }
    kept = await complete(part, { file, sha256: sha256 ?? promised })
  } finally {
    if (!kept) await part.close().catch(() => {})
  }
}

/** Answers with the digest that the hub promises, if it does. */
const attempt = async (part: PartFile, order: Download): Promise<string | undefined> => {
  if (part.bytes > 0 && part.validator === undefined) await part.restart()
  const { url, authorization, createGuard, stallSeconds, clock, signal, makeRoom } = order
  const { bytes: from, validator } = part
  const findAddresses = createGuard()
  const asked = { url, authorization, findAddresses, from, validator, stallSeconds, clock, signal }
  const answer = await requestPart(asked)
  try {
    requirePromised(answer, order)
    const totalBytes = requireSize(answer, url)
    if (answer.from === 0) {
      await part.restart()
      await part.belongsTo(answer.validator)
    }
    await makeRoom({ totalBytes, haveBytes: part.bytes })
    await receive(part, { body: answer.body, totalBytes }, order)
    return answer.promised.sha256
  } finally {
    answer.close()
  }
}

/** Rejects a wrong file by the hub's own facts, before gigabytes are downloaded. */
const requirePromised = ({ promised, totalBytes }: PartAnswer, { url, sha256 }: Download): void => {
  if (sha256 !== undefined && promised.sha256 !== undefined && promised.sha256 !== sha256)
    throw new DownloadError(
      `${url.host} has another file there: its sha256 is ${promised.sha256}, not ${sha256}`,
      'never',
    )
  const promisedBytes = promised.totalBytes
  if (promisedBytes !== undefined && totalBytes !== undefined && promisedBytes !== totalBytes)
    throw new Error(`${totalBytes} bytes are offered of a file of ${promisedBytes}`)
}

/** Size of the whole file; without it, nothing would keep the download from filling the disk. */
const requireSize = ({ totalBytes, promised }: PartAnswer, { host }: URL): number => {
  const size = totalBytes ?? promised.totalBytes
  if (size !== undefined) return size
  throw new DownloadError(
    `${host} does not state the size of the file; it must send Content-Length`,
    'never',
  )
}

const receive = async (
  part: PartFile,
  { body, totalBytes }: { body: PartAnswer['body']; totalBytes: number },
  order: Download,
): Promise<void> => {
  order.onProgress(part.bytes, totalBytes)
  if (part.bytes === totalBytes) return
  for await (const chunk of body) {
    if (part.bytes === 0) requireMagic(chunk)
    if (part.bytes + chunk.length > totalBytes)
      throw new DownloadError(`${order.url.host} sends more than ${totalBytes} bytes`, 'never')
    await part.append(chunk)
    order.onProgress(part.bytes, totalBytes)
  }
  if (part.bytes < totalBytes)
    throw new Error(`it ended after ${part.bytes} of ${totalBytes} bytes`)
}

/** Rejects a login page or other content before gigabytes are downloaded. */
const requireMagic = (chunk: Buffer): void => {
  const magic = chunk.subarray(0, 4).toString('latin1')
  if (!'GGUF'.startsWith(magic)) throw new DownloadError('the download is not a GGUF file', 'never')
}

const complete = async (
  part: PartFile,
  { file, sha256 }: Pick<Download, 'file' | 'sha256'>,
): Promise<true> => {
  const digest = part.digest()
  if (sha256 !== undefined && digest !== sha256) {
    await part.remove()
    throw new DownloadError(`its sha256 is ${digest}, not ${sha256}; it was deleted`, 'never')
  }
  await part.finish()
  await rememberDigest(file, digest)
  return true
}

/** The disk would only fill up again, and a refusal would only be repeated. */
const isFinal = (error: unknown): boolean =>
  (error instanceof DownloadError && error.again !== 'now') || isFull(error)

const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')

const explainError = (error: unknown): unknown =>
  isFull(error) ? new DownloadError('the disk is full', 'later', error) : error

const createFetchError = (url: URL, cause: unknown): DownloadError =>
  new DownloadError(
    `it cannot be fetched from ${url.host}: ${(cause as Error).message || 'no connection'}`,
    'later',
    cause,
  )
