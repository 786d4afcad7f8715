import { LLM_STAND_INS, type StandIn } from '../llm-stand-ins.ts'

export interface BedService {
  port: number
  /** Bytes that it sends at once. */
  banner?: string
  /** Pages of an HTTP server. */
  routes?: StandIn['routes']
}

export interface BedHost {
  label: string
  services?: readonly BedService[]
  /** Real program, where it is installed; its stand-in otherwise. */
  program?: 'mosquitto' | 'nginx' | 'sshd'
  /** Runtime that a scan has to name. */
  runtime?: string
  /** True for a host that drops what the scanner sends. */
  isHidden?: boolean
}

const SSH: BedService = { port: 22, banner: 'SSH-2.0-OpenSSH_9.2p1\r\n' }

const standIn = (kind: string): BedService => {
  const found = LLM_STAND_INS.find(each => each.kind === kind)
  if (found === undefined) throw new Error(`there is no stand-in of ${kind}`)
  return { port: found.port, routes: found.routes }
}

const page = (port: number, title: string): BedService => ({
  port,
  routes: { '/': `<html><title>${title}</title></html>` },
})

/** The twelve hosts of the test bed; host n has the address 10.77.0.n. */
export const BED_HOSTS: readonly BedHost[] = [
  { label: 'broker', program: 'mosquitto', services: [{ port: 1883 }] },
  { label: 'web', program: 'nginx', services: [page(80, 'Welcome to nginx!')] },
  { label: 'shell', program: 'sshd', services: [SSH] },
  { label: 'ollama', runtime: 'ollama', services: [standIn('ollama'), SSH] },
  { label: 'vllm', runtime: 'vllm', services: [standIn('vllm'), SSH] },
  { label: 'llama', runtime: 'llama-cpp', services: [standIn('llama-cpp')] },
  { label: 'tgi', runtime: 'tgi', services: [standIn('tgi')] },
  { label: 'locked', runtime: 'openai-compatible', services: [standIn('openai-compatible')] },
  {
    label: 'printer',
    services: [page(80, 'Brother HL-L2350DW series'), { port: 515 }, { port: 631 }, { port: 9100 }],
  },
  { label: 'nas', services: [page(5000, 'DiskStation'), { port: 445 }, SSH] },
  { label: 'router', services: [page(80, 'OpenWrt - LuCI'), { port: 53 }, { port: 23 }] },
  { label: 'hidden', isHidden: true, services: [SSH] },
]

export const BED_NETWORK = '10.77.0.0/25'
export const BED_SCANNER = '10.77.0.100'
/** A host of the same link outside of the network. */
export const BED_BYSTANDER = '10.77.0.200'

export const addressOf = (index: number): string => `10.77.0.${index + 1}`

/** `address port` of everything that listens and answers. */
export const listTruth = (): string[] =>
  BED_HOSTS.flatMap(({ services = [], isHidden }, index) =>
    isHidden ? [] : services.map(({ port }) => `${addressOf(index)} ${port}`),
  ).toSorted()
