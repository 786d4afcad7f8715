import type { AvahiService } from '../avahi.ts'
import { LLM_STAND_INS, type StandIn } from '../llm-stand-ins.ts'

interface BedService {
  port: number
  /** Bytes that it sends at once. */
  banner?: string
  /** Pages of an HTTP server. */
  routes?: StandIn['routes']
  /** Runtime that a scan has to name. */
  runtime?: string
}

export interface BedHost {
  label: string
  services?: readonly BedService[]
  /** Real program, where it is installed; its stand-in otherwise. */
  program?: 'mosquitto' | 'nginx' | 'sshd'
  /** Lines of snmpd.conf(5) for a real agent beside the services. */
  snmp?: readonly string[]
  /** Services that a real avahi announces. */
  mdns?: readonly AvahiService[]
  /** True for a host with an IPv6 address beside that of IPv4. */
  isIpv6?: boolean
  /** True for a host that drops what the scanner sends. */
  isHidden?: boolean
}

const SSH: BedService = { port: 22, banner: 'SSH-2.0-OpenSSH_9.2p1\r\n' }

const runtimes = (...kinds: string[]): BedService[] =>
  kinds.map(kind => {
    const found = LLM_STAND_INS.find(each => each.kind === kind)
    if (found === undefined) throw new Error(`there is no stand-in of ${kind}`)
    return { port: found.port, routes: found.routes, runtime: kind }
  })

const page = (port: number, title: string): BedService => ({
  port,
  routes: { '/': `<html><title>${title}</title></html>` },
})

/** Objects of the Printer-MIB that snmpd itself does not have (RFC 3805). */
const PRINTER_SUPPLIES = [
  'override 1.3.6.1.2.1.43.5.1.1.17.1 octet_str "E77B1234"',
  'override 1.3.6.1.2.1.43.10.2.1.4.1.1 counter 1200',
  'override 1.3.6.1.2.1.43.11.1.1.3.1.1 integer 1',
  'override 1.3.6.1.2.1.43.11.1.1.4.1.1 integer 3',
  'override 1.3.6.1.2.1.43.11.1.1.5.1.1 integer 21',
  'override 1.3.6.1.2.1.43.11.1.1.6.1.1 octet_str "Black Toner Cartridge"',
  'override 1.3.6.1.2.1.43.11.1.1.8.1.1 integer 100',
  'override 1.3.6.1.2.1.43.11.1.1.9.1.1 integer 60',
]

/** A user of SNMP version 3 with both passphrases. */
export const BED_SNMP_USER = { name: 'shoal', auth: 'auth-passphrase', priv: 'priv-passphrase' }

/** The hosts of the test bed; host n has the address 10.77.0.n. */
export const BED_HOSTS: readonly BedHost[] = [
  { label: 'broker', program: 'mosquitto', services: [{ port: 1883 }] },
  { label: 'web', program: 'nginx', services: [page(80, 'Welcome to nginx!')] },
  { label: 'shell', program: 'sshd', services: [SSH], isIpv6: true },
  {
    label: 'desktop',
    services: [...runtimes('ollama', 'lm-studio', 'sglang', 'koboldcpp'), SSH],
    isIpv6: true,
  },
  { label: 'rack', services: [...runtimes('vllm', 'text-generation-webui'), SSH], isIpv6: true },
  { label: 'laptop', services: runtimes('llama-cpp', 'docker-model-runner', 'lmdeploy', 'exo') },
  { label: 'lab', services: runtimes('tgi', 'litellm', 'xinference', 'jan') },
  { label: 'locked', services: runtimes('openai-compatible', 'triton', 'gpustack') },
  { label: 'mini', services: runtimes('localai', 'lemonade') },
  {
    label: 'printer',
    services: [page(80, 'Brother HL-L2350DW series'), { port: 515 }, { port: 631 }, { port: 9100 }],
    snmp: [
      'rocommunity public',
      'view systemonly included .1',
      'sysname printer',
      ...PRINTER_SUPPLIES,
    ],
    mdns: [
      { name: 'Büro-Drucker', type: '_ipp._tcp', port: 631, txt: ['ty=Brother HL-L2350DW'] },
      { name: 'Büro-Drucker', type: '_printer._tcp', port: 515 },
    ],
    isIpv6: true,
  },
  {
    label: 'nas',
    services: [page(5000, 'DiskStation'), { port: 445 }, SSH],
    mdns: [
      { name: 'nas', type: '_smb._tcp', port: 445 },
      { name: 'nas', type: '_http._tcp', port: 5000, txt: ['model=DS220'] },
    ],
    isIpv6: true,
  },
  {
    label: 'router',
    services: [page(80, 'OpenWrt - LuCI'), { port: 53 }, { port: 23 }],
    snmp: [
      `createUser ${BED_SNMP_USER.name} SHA-256 "${BED_SNMP_USER.auth}" AES "${BED_SNMP_USER.priv}"`,
      `rouser ${BED_SNMP_USER.name} priv`,
      'sysname router',
      'sysservices 4',
    ],
  },
  { label: 'hidden', isHidden: true, services: [SSH] },
]

export const BED_NETWORK = '10.77.0.0/25'
export const BED_NETWORK_6 = 'fd77::/120'
export const BED_SCANNER = '10.77.0.100'
export const BED_SCANNER_6 = 'fd77::64'
/** A host of the same link outside of both networks. */
export const BED_BYSTANDER = '10.77.0.200'
export const BED_BYSTANDER_6 = 'fd77::1:0'
/** A network behind the router, which forwards nothing: what is sent there is swallowed. */
export const BED_VOID = '198.18.0.0/22'

export const addressOf = (index: number): string => `10.77.0.${index + 1}`

export const addressOf6 = (index: number): string => `fd77::${(index + 1).toString(16)}`

export const indexOf = (label: string): number => BED_HOSTS.findIndex(each => each.label === label)

/** `address port` of everything that listens and answers. */
export const listTruth = (): string[] => listOpen(BED_HOSTS, addressOf)

/** The same of the hosts with IPv6. */
export const listTruth6 = (): string[] =>
  listOpen(
    BED_HOSTS.map(host => (host.isIpv6 ? host : { label: host.label })),
    addressOf6,
  )

const listOpen = (hosts: readonly BedHost[], toAddress: (index: number) => string): string[] =>
  hosts
    .flatMap(({ services = [], isHidden }, index) =>
      isHidden ? [] : services.map(({ port }) => `${toAddress(index)} ${port}`),
    )
    .toSorted()

/** `address port runtime` of every LLM runtime. */
export const listRuntimes = (): string[] =>
  BED_HOSTS.flatMap(({ services = [] }, index) =>
    services.flatMap(({ port, runtime }) =>
      runtime === undefined ? [] : `${addressOf(index)} ${port} ${runtime}`,
    ),
  ).toSorted()
