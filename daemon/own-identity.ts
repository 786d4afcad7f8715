import { randomId } from '../shared/ids.ts'
import { type Identity, writeIdentity } from './identity.ts'

type Changes = Partial<
  Pick<Identity, 'credential' | 'credential_at' | 'coordinator_key'> & {
    next_credential: string | undefined
  }
>

/** The identity of the running daemon; its fields are the current ones whenever they are read. */
export interface OwnIdentity extends Identity {
  /** Id of this start, generated each time and never stored. */
  readonly boot_id: string
  /**
   * Changes the file and then these fields; one change after another. A function decides by the
   * fields that the changes before it have left; undefined changes nothing.
   */
  update(changes: Changes | ((kept: Identity) => Changes | undefined)): Promise<void>
}

export const ownIdentity = (stateDir: string, stored: Identity): OwnIdentity => {
  let kept = stored
  let last: Promise<void> = Promise.resolve()

  const change: OwnIdentity['update'] = async given => {
    const changes = typeof given === 'function' ? given(kept) : given
    if (changes === undefined) return
    const next = { ...kept, ...changes }
    if (next.next_credential === undefined) delete next.next_credential
    await writeIdentity(stateDir, next as Identity)
    kept = next as Identity
    delete own.next_credential
    Object.assign(own, kept)
  }

  const own: OwnIdentity = {
    ...stored,
    boot_id: randomId(),
    update: changes => {
      const done = last.then(() => change(changes))
      last = done.catch(() => {})
      return done
    },
  }
  return own
}
