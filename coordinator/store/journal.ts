import { closeSync, openSync, read, readdirSync, rmSync, writeSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'

/**
 * A file that values are appended to before their table has them. What was appended survives the
 * death of the process (not that of the machine: nothing is synced), and costs a tenth of a
 * transaction. A moment later everything is carried over in one.
 */
export interface Journal<T> {
  /** Resolves when the value is in the file. Rejects with `store_unavailable`. */
  append(value: T): Promise<void>
  /** Resolves when everything that was appended before has been carried over. */
  drain(): Promise<void>
  /** Carries over what is left. What could not be is found at the next start. */
  close(): Promise<void>
}

export interface JournalOptions<T> {
  /** Belongs to the journal alone; made when it is not there. */
  folder: string
  /**
   * Puts values where they belong. The same value may come twice: after a crash between this and
   * the end of its file. Rejects when it has to be tried again.
   */
  carry: (values: T[]) => Promise<void>
  logger: Pick<Logger, 'warn'>
  /** How often values are carried over. */
  everyMs?: number
}

interface Segment {
  path: string
  file: number
  bytes: number
  /** The last write was cut off: what it left must not become part of the next line. */
  torn: boolean
}

/** Opens the journal; what a process that died has left in it is carried over first. */
export const openJournal = async <T>(options: JournalOptions<T>): Promise<Journal<T>> => {
  const { folder, carry, logger, everyMs = 1000 } = options
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const warn = (error: unknown): void =>
    logger.warn({ err: error }, 'the journal could not be carried over; it is tried again')
  // what cannot be carried over now stays for the next start
  await carryLeftovers(folder, carry).catch(warn)

  let active: Segment | undefined
  let sealed: Segment | undefined
  let carrying: Promise<void> | undefined
  let open: { text: string; written: Promise<void> } | undefined

  const flush = (): void => {
    const text = open?.text ?? ''
    open = undefined
    active ??= newSegment(folder)
    write(active, text)
  }

  const append = (value: T): Promise<void> => {
    const line = `${JSON.stringify(value)}\n`
    if (open !== undefined) {
      open.text += line
      return open.written
    }
    // values of one turn of the event loop share one write
    const written = new Promise<void>((resolve, reject) =>
      setImmediate(() => {
        try {
          flush()
          resolve()
        } catch (cause) {
          reject(unavailable(cause))
        }
      }),
    )
    open = { text: line, written }
    return written
  }

  const carryOver = async (): Promise<void> => {
    if (sealed === undefined) {
      sealed = active
      active = undefined
    }
    if (sealed === undefined) return
    const { path, file, bytes } = sealed
    await carry(valuesOf<T>(await contentOf(file, bytes)))
    sealed = undefined
    closeSync(file)
    await rm(path, { force: true })
  }

  const once = (): Promise<void> => {
    carrying ??= carryOver().finally(() => {
      carrying = undefined
    })
    return carrying
  }

  const drain = async (): Promise<void> => {
    await open?.written.catch(() => {})
    await carrying
    // what could not be carried over before, then what came after it
    if (sealed !== undefined) await once()
    // another drain may have begun with it meanwhile
    if (active !== undefined || carrying !== undefined) await once()
  }

  const timer = setInterval(() => {
    if (active !== undefined || sealed !== undefined) once().catch(warn)
  }, everyMs)
  timer.unref()

  const close = async (): Promise<void> => {
    clearInterval(timer)
    await drain().catch(warn)
    for (const segment of [active, sealed]) if (segment !== undefined) closeSync(segment.file)
  }

  return { append, drain, close }
}

const EXTENSION = '.jsonl'

/** Sorts by age. */
const newSegment = (folder: string): Segment => {
  const path = join(folder, `${newId('seg')}${EXTENSION}`)
  return { path, file: openSync(path, 'ax+', 0o600), bytes: 0, torn: false }
}

/** All of it or an error; a full disk takes a part. */
const write = (segment: Segment, text: string): void => {
  const bytes = Buffer.from(segment.torn ? `\n${text}` : text)
  segment.torn = true
  let done = 0
  while (done < bytes.length) {
    const taken = writeSync(segment.file, bytes, done)
    segment.bytes += taken
    done += taken
  }
  segment.torn = false
}

const contentOf = async (file: number, bytes: number): Promise<string> => {
  const buffer = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await promisify(read)(file, buffer, at, bytes - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return buffer.toString('utf8')
}

/** A line that cannot be read was cut off while it was written: nobody was told that it is there. */
const valuesOf = <T>(text: string): T[] => {
  const values: T[] = []
  for (const line of text.split('\n')) {
    if (line === '') continue
    try {
      values.push(JSON.parse(line))
    } catch {}
  }
  return values
}

const carryLeftovers = async <T>(
  folder: string,
  carry: JournalOptions<T>['carry'],
): Promise<void> => {
  const names = readdirSync(folder).filter(name => name.endsWith(EXTENSION))
  for (const name of names.sort()) {
    const path = join(folder, name)
    const values = valuesOf<T>(await readFile(path, 'utf8'))
    if (values.length > 0) await carry(values)
    rmSync(path, { force: true })
  }
}

const RETRY_AFTER_SECONDS = 5

const unavailable = (cause: unknown): ShoalError => {
  const { code } = cause as NodeJS.ErrnoException
  return new ShoalError('store_unavailable', `the journal cannot be written (${code})`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  })
}
