import { readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { AllowedTarget } from '../../../shared/outbound/allow-list.ts'
import { formatBytes } from '../../../shared/print-number.ts'
import type { Wait } from '../../../shared/wait.ts'
import type { Clock } from '../clock.ts'
import type { Weights } from '../weights.ts'
import { createAddressGuard } from './address-guard.ts'
import { download } from './download.ts'
import { DownloadError } from './download-error.ts'
import { partName } from './part-file.ts'
import { SharedWork } from './shared-work.ts'

interface ModelFolderOptions {
  folder: string
  /** Maximum size of the folder. */
  maxBytes: number
  stallSeconds: number
  /** Files that the catalogue names; others may be removed. */
  listWanted: () => ReadonlySet<string>
  /** True for weights that the cell's own configuration names; all are by default. */
  isOwn?: (weights: Weights) => boolean
  /** Private servers that models added at the coordinator may be downloaded from. */
  allowed?: readonly AllowedTarget[]
  /** File with a token of the hub. */
  hubTokenFile?: string | undefined
  clock: Clock
  /** Free bytes of the folder's file system; undefined when it is not known. */
  freeBytes?: (folder: string) => Promise<number | undefined>
  wait?: Wait
}

type OnProgress = (bytes: number, totalBytes: number | undefined) => void

/** Reason of a stopped download; the coordinator says when it may go on. */
const EGRESS_OFF =
  'the download is stopped because egress is off (upstreams.egress of the coordinator); it resumes once that is on'

/** Disk space left free for everything else. */
const RESERVE_BYTES = 256 * 1024 * 1024

/** Folder of downloaded weights. Weights that several engines need are downloaded once. */
export class ModelFolder {
  readonly #options: ModelFolderOptions
  readonly #downloads = new SharedWork<readonly [number, number | undefined]>()

  /** Sizes of the files being downloaded, once known. */
  readonly #coming = new Map<string, number>()
  #turn: Promise<void> = Promise.resolve()
  /**
   * Signal that is aborted while weights that the cell's own configuration does not name are not
   * downloaded.
   */
  #stop = new AbortController()

  constructor(options: ModelFolderOptions) {
    this.#options = options
  }

  /**
   * Stops the downloads of weights that the cell's own configuration does not name, or allows them
   * again. What has come so far is kept.
   */
  setStopped(isStopped: boolean): void {
    if (isStopped === this.#stop.signal.aborted) return
    if (isStopped) this.#stop.abort(new DownloadError(EGRESS_OFF, 'allowed'))
    else this.#stop = new AbortController()
  }

  /** Resolves at once when the weights are there. @throws DownloadError */
  async fetch(weights: Weights, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
    const { file, sha256, url } = weights
    if (url === undefined || (await sizeOf(file)) !== undefined) return
    const { stallSeconds, clock, wait, hubTokenFile } = this.#options
    const { isOwn = () => true, allowed = [] } = this.#options
    const isTrusted = weights.fromHub === true || isOwn(weights)
    const wanted = isOwn(weights) ? signal : AbortSignal.any([signal, this.#stop.signal])
    wanted.throwIfAborted()
    const authorization = weights.fromHub ? await bearer(hubTokenFile) : undefined
    const begin = (abort: AbortSignal, tell: (at: [number, number | undefined]) => void) =>
      download({
        url,
        authorization,
        createGuard: () => createAddressGuard({ isTrusted, allowed }),
        file,
        sha256,
        stallSeconds,
        clock,
        makeRoom: size => this.#runInTurn(() => this.#makeRoom(file, size)),
        onProgress: (bytes, total) => tell([bytes, total]),
        signal: abort,
        ...(wait !== undefined && { wait }),
      }).finally(() => this.#coming.delete(file))
    await this.#downloads.join(file, begin, at => onProgress(...at), wanted)
  }

  /** Runs one check at a time, as two at once would claim the same free space. */
  #runInTurn(run: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(run)
    this.#turn = done.catch(() => {})
    return done
  }

  /** Disk space that other running downloads still need. */
  #restBytes(file: string, held: readonly { path: string; bytes: number }[]): number {
    let restBytes = 0
    for (const [other, totalBytes] of this.#coming) {
      if (other === file) continue
      const part = held.find(({ path }) => path === other || path === partName(other))
      restBytes += Math.max(0, totalBytes - (part?.bytes ?? 0))
    }
    return restBytes
  }

  async #makeRoom(
    file: string,
    { totalBytes, haveBytes }: { totalBytes: number; haveBytes: number },
  ): Promise<void> {
    const { maxBytes, folder, freeBytes = freeOf } = this.#options
    const others = (await filesOf(folder)).filter(({ path }) => !path.startsWith(file))
    const spare = others.filter(({ path }) => !this.#isWanted(path)).sort((a, b) => a.at - b.at)
    const restBytes = this.#restBytes(file, others)
    const countHeldBytes = (): number =>
      others.reduce((sum, { bytes }) => sum + bytes, totalBytes + restBytes)
    const findShortage = async (): Promise<string | undefined> => {
      if (countHeldBytes() > maxBytes)
        return `${folder} would hold ${formatBytes(countHeldBytes())} of at most ${formatBytes(maxBytes)}`
      const free = await freeBytes(folder)
      const needed = totalBytes - haveBytes + restBytes + RESERVE_BYTES
      if (free === undefined || free >= needed) return undefined
      return `the disk has ${formatBytes(free)} free, and ${formatBytes(needed)} are needed`
    }
    for (;;) {
      const reason = await findShortage()
      if (reason === undefined) {
        this.#coming.set(file, totalBytes)
        return
      }
      const oldest = spare.shift()
      if (oldest === undefined) throw new DownloadError(reason, 'later')
      // the catalogue may name it again meanwhile
      if (this.#isWanted(oldest.path)) continue
      await rm(oldest.path, { force: true })
      others.splice(others.indexOf(oldest), 1)
    }
  }

  #isWanted(path: string): boolean {
    const wanted = [...this.#options.listWanted(), ...this.#coming.keys()]
    return wanted.some(file => path === file || path === partName(file))
  }
}

const bearer = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined
  try {
    const token = (await readFile(file, 'utf8')).trim()
    if (/^[\x21-\x7e]{1,1024}$/.test(token)) return `Bearer ${token}`
    throw new Error('it holds no token')
  } catch (cause) {
    const { message } = cause as Error
    throw new DownloadError(`inference.hub_token_file: ${message}`, 'later', cause)
  }
}

const sizeOf = async (path: string): Promise<number | undefined> =>
  (await stat(path).catch(() => undefined))?.size

const freeOf = async (folder: string): Promise<number | undefined> => {
  const space = await statfs(folder).catch(() => undefined)
  return space && space.bavail * space.bsize
}

/** Names of files that downloads created. */
const OURS = /^(sha256|unchecked)-[0-9a-f]{64}\.gguf(\.part)?$/

const filesOf = async (folder: string) => {
  const names = (await readdir(folder).catch(() => [])).filter(name => OURS.test(name))
  const files: { path: string; bytes: number; at: number }[] = []
  for (const name of names) {
    const path = join(folder, name)
    const facts = await stat(path).catch(() => undefined)
    if (facts?.isFile()) files.push({ path, bytes: facts.size, at: facts.mtimeMs })
  }
  return files
}
