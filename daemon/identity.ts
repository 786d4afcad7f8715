import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../shared/errors.ts'
import { CELL_ID } from '../shared/ids.ts'
import { readPrivate, replacePrivate } from '../shared/private-file.ts'
import { PublicKey } from '../shared/signing.ts'

/**
 * Identity of this cell, stored in `identity.json`. The credential alone proves it: any holder is
 * accepted as this cell.
 */
export const Identity = z.looseObject({
  cell_id: z.string().regex(CELL_ID),
  credential: z.string().min(1),
  /** Time at which the credential was issued, in Unix milliseconds by the cell's clock. */
  credential_at: z.int().exactOptional(),
  /** A credential that was given and is not confirmed yet; both are good until it is. */
  next_credential: z.string().min(1).exactOptional(),
  /** The coordinator that gave the identity. */
  coordinator_url: z.string().min(1),
  /** Certificate of the one authority that may vouch for the coordinator, PEM. */
  coordinator_ca: z.string().min(1).exactOptional(),
  /** The key with which the coordinator signs commands. */
  coordinator_key: PublicKey.exactOptional(),
  /** Grows with every start, so that a late message of an earlier life is known as such. */
  epoch: z.int().nonnegative(),
})
export type Identity = z.infer<typeof Identity>

/**
 * Credential to authenticate with: the new one as soon as it exists. Its first use revokes the old
 * one; a later use of the old one indicates a copy of this cell.
 */
export const credentialOf = (identity: Pick<Identity, 'credential' | 'next_credential'>): string =>
  identity.next_credential ?? identity.credential

export const identityFile = (stateDir: string): string => join(stateDir, 'identity.json')

/** The private key with which this cell signs; beside the identity. */
export const signingKeyFile = (stateDir: string): string => join(stateDir, 'signing.key')

/**
 * The stored identity, or undefined when there is none yet. A file that cannot be understood is an
 * error and never a new identity: the fleet would see a second cell.
 */
export const readIdentity = async (stateDir: string): Promise<Identity | undefined> => {
  const path = identityFile(stateDir)
  const text = await readPrivate(path)
  return text === undefined ? undefined : understand(text, path)
}

const understand = (text: string, path: string): Identity => {
  try {
    return Identity.parse(JSON.parse(text))
  } catch (cause) {
    const message = `${path} is damaged; restore it, or remove it and enrol this cell again`
    throw new ShoalError('store_unavailable', message, { cause })
  }
}

/** Replaces the file in one step; it is on the disk when this resolves. */
export const writeIdentity = (stateDir: string, identity: Identity): Promise<void> =>
  replacePrivate(identityFile(stateDir), `${JSON.stringify(identity, null, 2)}\n`)

/** Begins a new life: the epoch is one higher, and on the disk, before anybody hears of it. */
export const beginEpoch = async (stateDir: string, identity: Identity): Promise<Identity> => {
  const next = { ...identity, epoch: identity.epoch + 1 }
  await writeIdentity(stateDir, next)
  return next
}
