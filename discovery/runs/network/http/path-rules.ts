/** A path whose answer identifies a product that its front page hides. */
export interface PathRule {
  path: string
  name: string
  vendor: string | null
  cpe?: string
  pattern: RegExp
  /** Group 1 is the version. */
  version?: RegExp
}

/** Paths as the documentation of each product has them. All answer without credentials. */
export const PATH_RULES: readonly PathRule[] = [
  {
    path: '/shelly',
    name: 'shelly',
    vendor: 'Shelly',
    pattern: /"(?:gen|type)":.{0,200}"mac"|"mac":.{0,200}"(?:gen|type)"/s,
    version: /"ver":\s*"([\w.-]{1,32})"/,
  },
  {
    path: '/printer/info',
    name: 'moonraker',
    vendor: null,
    pattern: /"klipper_path"|"software_version"/,
    version: /"software_version":\s*"([\w.-]{1,64})"/,
  },
  {
    path: '/api/health',
    name: 'grafana',
    vendor: 'Grafana Labs',
    cpe: 'a:grafana:grafana',
    pattern: /"database":\s*"ok"/,
    version: /"version":\s*"([\d.]{1,32})/,
  },
  {
    path: '/System/Info/Public',
    name: 'jellyfin',
    vendor: null,
    cpe: 'a:jellyfin:jellyfin',
    pattern: /"ProductName":\s*"Jellyfin/,
    version: /"Version":\s*"([\d.]{1,32})"/,
  },
  {
    path: '/identity',
    name: 'plex',
    vendor: 'Plex',
    pattern: /machineIdentifier=/,
    version: /version="([\w.-]{1,64})"/,
  },
  {
    path: '/description.xml',
    name: 'philips-hue',
    vendor: 'Signify',
    pattern: /<modelName>philips hue/i,
  },
  {
    path: '/api/version',
    name: 'ollama',
    vendor: 'Ollama',
    cpe: 'a:ollama:ollama',
    pattern: /^\{"version":"[\d.][^"]*"\}\s*$/,
    version: /"version":"([\w.-]{1,32})"/,
  },
  { path: '/.well-known/agent.json', name: 'shoal', vendor: null, pattern: /"shoal-swarm\// },
]
