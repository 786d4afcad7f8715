import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import { loadOwnCertificate } from '../../../../coordinator/kernel/tls/own-certificate.ts'
import { certificatePlace } from '../../../support/secrets.ts'

/** A certificate for a name, with the authority that vouches for it. */
export const testCertificate = async (t: Pick<Test, 'teardown'>, name: string) => {
  const { cert, key, caFile = '' } = await loadOwnCertificate(await certificatePlace(t), [name])
  return { cert, key, ca: await readFile(caFile, 'utf8') }
}
