import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NetworkLab, waitForLine } from './network-lab.ts'

/** A real snmpd on a machine of a lab, with these lines of snmpd.conf(5). */
export const startSnmpd = async (
  lab: NetworkLab,
  host: string,
  lines: readonly string[],
): Promise<Disposable> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-snmpd-'))
  chmodSync(folder, 0o755)
  const file = join(folder, 'snmpd.conf')
  writeFileSync(file, ['agentaddress udp:161', ...lines, ''].join('\n'))
  const child = lab.start(host, 'env', [
    `SNMP_PERSISTENT_DIR=${folder}`,
    ...['snmpd', '-f', '-C', '-c', file, '-Lo', '-I', '-smux'],
  ])
  await waitForLine(child, /NET-SNMP version/)
  child.stdout?.resume()
  return { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
