import { join } from 'node:path'
import type { Logger } from 'pino'
import { readPrivate, replacePrivate } from '../shared/private-file.ts'
import { AuditHead, isGenuineHead } from '../shared/wire/audit-head.ts'

/** The cell's memory of the coordinator's audit: what was once there cannot be denied to it. */
export interface Witness {
  /** The highest head that was given; undefined before the first. */
  head(): AuditHead | undefined
  /**
   * Keeps a head that is genuine and higher. One of several coordinators may lag behind another, so
   * that a lower head is no sign of lost rows there.
   */
  keep(head: AuditHead, sender?: { mayLag: boolean }): Promise<void>
}

interface WitnessOptions {
  stateDir: string
  /** Keys of the coordinator that this cell believes in. */
  listTrustedKeys: () => readonly string[]
  logger: Pick<Logger, 'warn'>
}

const FILE = 'audit-head.json'

/** A file that cannot be understood is the same as none. */
export const openWitness = async ({
  stateDir,
  listTrustedKeys,
  logger,
}: WitnessOptions): Promise<Witness> => {
  const path = join(stateDir, FILE)
  let kept = parseHead(await readPrivate(path))

  const keep: Witness['keep'] = async (head, { mayLag } = { mayLag: false }) => {
    if (!listTrustedKeys().some(key => isGenuineHead(head, key))) return
    const isSameKey = kept?.key_id === head.key_id
    if (isSameKey && kept !== undefined && head.seq <= kept.seq) {
      if (head.seq < kept.seq ? !mayLag : head.hash !== kept.hash)
        logger.warn(
          { kept: kept.seq, shown: head.seq },
          'the audit of the coordinator was rolled back',
        )
      return
    }
    kept = head
    await replacePrivate(path, `${JSON.stringify(head)}\n`)
  }
  return { head: () => kept, keep }
}

const parseHead = (text: string | undefined): AuditHead | undefined => {
  try {
    return text === undefined ? undefined : AuditHead.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
