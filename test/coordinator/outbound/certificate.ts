import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import { loadOwnCertificate } from '../../../coordinator/tls/own-certificate.ts'
import { temporaryFolder } from '../store/temporary.ts'

/** A certificate for a name, with the authority that vouches for it. */
export const testCertificate = async (t: Pick<Test, 'teardown'>, name: string) => {
  const { cert, key, caFile = '' } = await loadOwnCertificate(await temporaryFolder(t), [name])
  return { cert, key, ca: await readFile(caFile, 'utf8') }
}
