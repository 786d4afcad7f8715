import { HELPER_CLASSES, type HelperClass } from './helper-class.ts'

export type Environment = Readonly<Record<string, string | undefined>>

interface PassedOn {
  name: string
  to: readonly HelperClass[]
  /** Consumer of the variable. */
  why: string
}

/** Allow-list: other variables may hold secrets of the daemon, or change what a program loads. */
export const PASSED_ON: readonly PassedOn[] = [
  { name: 'PATH', to: HELPER_CLASSES, why: 'finds programs such as lsblk, ip and nmcli' },
  { name: 'TZ', to: HELPER_CLASSES, why: 'the local time in answers of programs' },
  { name: 'SystemRoot', to: HELPER_CLASSES, why: 'Windows finds its libraries with it' },
  { name: 'SHELL', to: ['host'], why: 'the answer of the probe `shell`' },
  { name: 'DOCKER_SOCKET', to: ['host'], why: 'path of the docker engine for the host probes' },
  { name: 'DOCKER_HOST', to: ['host'], why: 'address of the docker engine for docker clients' },
  { name: 'XDG_RUNTIME_DIR', to: ['host'], why: 'sockets of a rootless docker or podman engine' },
  {
    name: 'DBUS_SYSTEM_BUS_ADDRESS',
    to: HELPER_CLASSES,
    why: 'nmcli, avahi and BlueZ answer there, when it is not at its usual place',
  },
  {
    name: 'DBUS_SESSION_BUS_ADDRESS',
    to: ['radio'],
    why: 'file transfer of BlueZ (obexd), and agents of a desktop session',
  },
  { name: 'HOME', to: ['lan'], why: 'kubectl settings are in .kube/config there' },
  { name: 'KUBECONFIG', to: ['lan'], why: 'files with the addresses of Kubernetes clusters' },
  { name: 'KUBERNETES_SERVICE_HOST', to: ['lan'], why: 'API server of the cluster it runs in' },
  { name: 'KUBERNETES_SERVICE_PORT', to: ['lan'], why: 'port of that API server' },
]

/** A fixed locale for the parsers of program output; a neutral HOME avoids a user's settings. */
const FIXED = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', HOME: '/' }

/** Builds the environment of a helper process from the allow-listed variables of the daemon. */
export const buildEnvironment = (helperClass: HelperClass, env: Environment): NodeJS.ProcessEnv => {
  const passed = PASSED_ON.filter(({ name, to }) => to.includes(helperClass) && env[name])
  return { ...FIXED, ...Object.fromEntries(passed.map(({ name }) => [name, env[name]])) }
}
