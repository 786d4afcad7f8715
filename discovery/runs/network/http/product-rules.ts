/** Place where a rule looks: a header by its name, or a part of the answer. */
export type RulePlace =
  | 'title'
  | 'generator'
  | 'body'
  | 'cookie'
  | 'tls'
  | 'realm'
  | `header:${string}`

/** A product by what it says about itself. Group 1 of the pattern is its version, if it has one. */
export interface ProductRule {
  name: string
  vendor: string | null
  /** Part, vendor and product of its CPE name (NVD CPE dictionary). */
  cpe?: string
  place: RulePlace
  pattern: RegExp
}

const SERVER = 'header:server'

/**
 * Products by the words that their own documentation or default pages use. Headers come first:
 * the first rule of a product that fits gives its evidence.
 */
export const PRODUCT_RULES: readonly ProductRule[] = [
  // web servers
  {
    name: 'nginx',
    vendor: 'F5',
    cpe: 'a:f5:nginx',
    place: SERVER,
    pattern: /^nginx(?:\/([\d.]+))?/i,
  },
  {
    name: 'apache',
    vendor: 'Apache',
    cpe: 'a:apache:http_server',
    place: SERVER,
    pattern: /^apache(?:\/([\d.]+))?/i,
  },
  {
    name: 'lighttpd',
    vendor: null,
    cpe: 'a:lighttpd:lighttpd',
    place: SERVER,
    pattern: /^lighttpd(?:\/([\d.]+))?/i,
  },
  {
    name: 'iis',
    vendor: 'Microsoft',
    cpe: 'a:microsoft:internet_information_services',
    place: SERVER,
    pattern: /^microsoft-iis(?:\/([\d.]+))?/i,
  },
  { name: 'caddy', vendor: null, cpe: 'a:caddyserver:caddy', place: SERVER, pattern: /^caddy\b/i },
  { name: 'uvicorn', vendor: null, place: SERVER, pattern: /^uvicorn\b/i },
  {
    name: 'gunicorn',
    vendor: null,
    cpe: 'a:gunicorn:gunicorn',
    place: SERVER,
    pattern: /^gunicorn(?:\/([\d.]+))?/i,
  },
  {
    name: 'werkzeug',
    vendor: 'Pallets',
    cpe: 'a:palletsprojects:werkzeug',
    place: SERVER,
    pattern: /werkzeug\/([\d.]+)/i,
  },
  { name: 'python-http', vendor: 'Python', place: SERVER, pattern: /^(?:simple|base)http\//i },
  { name: 'kestrel', vendor: 'Microsoft', place: SERVER, pattern: /^kestrel/i },
  { name: 'traefik', vendor: 'Traefik', place: 'title', pattern: /^traefik/i },
  // inference and machine learning
  {
    name: 'ollama',
    vendor: 'Ollama',
    cpe: 'a:ollama:ollama',
    place: 'body',
    pattern: /^ollama is running/i,
  },
  { name: 'llama-cpp', vendor: null, place: SERVER, pattern: /^llama\.cpp/i },
  {
    name: 'open-webui',
    vendor: 'Open WebUI',
    cpe: 'a:openwebui:open_webui',
    place: 'title',
    pattern: /^open webui/i,
  },
  { name: 'comfyui', vendor: null, place: 'title', pattern: /^comfyui/i },
  { name: 'stable-diffusion-webui', vendor: null, place: 'title', pattern: /^stable diffusion/i },
  {
    name: 'jupyter',
    vendor: 'Jupyter',
    place: 'title',
    pattern: /^(?:jupyter|jupyterlab|home page - select)/i,
  },
  { name: 'tensorboard', vendor: null, place: 'title', pattern: /^tensorboard/i },
  { name: 'ray-dashboard', vendor: null, place: 'title', pattern: /^ray dashboard/i },
  { name: 'mlflow', vendor: null, cpe: 'a:lfprojects:mlflow', place: 'title', pattern: /^mlflow/i },
  // monitoring and operations
  {
    name: 'grafana',
    vendor: 'Grafana Labs',
    cpe: 'a:grafana:grafana',
    place: 'title',
    pattern: /^grafana/i,
  },
  {
    name: 'prometheus',
    vendor: null,
    cpe: 'a:prometheus:prometheus',
    place: 'title',
    pattern: /^prometheus/i,
  },
  {
    name: 'kibana',
    vendor: 'Elastic',
    cpe: 'a:elastic:kibana',
    place: 'header:kbn-version',
    pattern: /^([\d.]+)/,
  },
  {
    name: 'elasticsearch',
    vendor: 'Elastic',
    cpe: 'a:elastic:elasticsearch',
    place: 'header:x-elastic-product',
    pattern: /elasticsearch/i,
  },
  {
    name: 'jenkins',
    vendor: 'Jenkins',
    cpe: 'a:jenkins:jenkins',
    place: 'header:x-jenkins',
    pattern: /^([\d.]+)/,
  },
  {
    name: 'gitlab',
    vendor: 'GitLab',
    cpe: 'a:gitlab:gitlab',
    place: 'cookie',
    pattern: /^_gitlab_session$/,
  },
  {
    name: 'gitea',
    vendor: 'Gitea',
    cpe: 'a:gitea:gitea',
    place: 'cookie',
    pattern: /^i_like_gitea$/,
  },
  {
    name: 'portainer',
    vendor: 'Portainer',
    cpe: 'a:portainer:portainer',
    place: 'title',
    pattern: /^portainer/i,
  },
  {
    name: 'proxmox-ve',
    vendor: 'Proxmox',
    cpe: 'a:proxmox:virtual_environment',
    place: 'title',
    pattern: /proxmox virtual environment/i,
  },
  {
    name: 'proxmox-ve',
    vendor: 'Proxmox',
    cpe: 'a:proxmox:virtual_environment',
    place: SERVER,
    pattern: /^pve-api-daemon/i,
  },
  { name: 'cockpit', vendor: null, place: 'cookie', pattern: /^cockpit$/ },
  {
    name: 'esxi',
    vendor: 'VMware',
    place: 'title',
    pattern: /^(?:vmware esxi|log in - vmware esxi)/i,
  },
  { name: 'minio', vendor: 'MinIO', cpe: 'a:minio:minio', place: SERVER, pattern: /^minio/i },
  { name: 'rabbitmq', vendor: 'Broadcom', place: 'title', pattern: /^rabbitmq management/i },
  { name: 'emqx', vendor: 'EMQ', place: 'title', pattern: /^emqx/i },
  {
    name: 'nextcloud',
    vendor: 'Nextcloud',
    cpe: 'a:nextcloud:nextcloud_server',
    place: 'title',
    pattern: /nextcloud/i,
  },
  // homes
  {
    name: 'home-assistant',
    vendor: 'Nabu Casa',
    cpe: 'a:home-assistant:home-assistant',
    place: 'title',
    pattern: /^home assistant/i,
  },
  { name: 'node-red', vendor: null, place: 'title', pattern: /^node-red/i },
  { name: 'zigbee2mqtt', vendor: null, place: 'title', pattern: /zigbee2mqtt/i },
  {
    name: 'esphome',
    vendor: 'Nabu Casa',
    place: 'body',
    pattern: /esphome web server|<esp-app\b/i,
  },
  { name: 'tasmota', vendor: null, place: SERVER, pattern: /^tasmota\/([\d.]+)/i },
  { name: 'frigate', vendor: null, place: 'title', pattern: /^frigate/i },
  { name: 'pi-hole', vendor: null, place: 'header:x-pi-hole', pattern: /pi-hole/i },
  { name: 'adguard-home', vendor: 'AdGuard', place: 'title', pattern: /adguard home/i },
  { name: 'plex', vendor: 'Plex', place: 'header:x-plex-protocol', pattern: /./ },
  {
    name: 'jellyfin',
    vendor: null,
    cpe: 'a:jellyfin:jellyfin',
    place: 'title',
    pattern: /^jellyfin/i,
  },
  // machines that make things
  {
    name: 'octoprint',
    vendor: 'OctoPrint',
    cpe: 'a:octoprint:octoprint',
    place: 'title',
    pattern: /^octoprint/i,
  },
  { name: 'mainsail', vendor: null, place: 'title', pattern: /^mainsail/i },
  { name: 'fluidd', vendor: null, place: 'title', pattern: /^fluidd/i },
  { name: 'duet-web-control', vendor: 'Duet3D', place: 'title', pattern: /^duet web control/i },
  // printers
  { name: 'hp-printer', vendor: 'HP', place: SERVER, pattern: /^(?:hp http server|virata-emweb)/i },
  {
    name: 'brother-printer',
    vendor: 'Brother',
    place: 'title',
    pattern: /^brother .{0,60}(?:series|printer)/i,
  },
  { name: 'canon-printer', vendor: 'Canon', place: SERVER, pattern: /^canon http server/i },
  {
    name: 'epson-printer',
    vendor: 'Epson',
    place: SERVER,
    pattern: /^epson[_ -]linux|epson-http/i,
  },
  { name: 'kyocera-printer', vendor: 'Kyocera', place: SERVER, pattern: /^km-mfp-http/i },
  {
    name: 'cups',
    vendor: 'OpenPrinting',
    cpe: 'a:openprinting:cups',
    place: SERVER,
    pattern: /cups\/([\d.]+)/i,
  },
  // networks and storage
  {
    name: 'routeros',
    vendor: 'MikroTik',
    cpe: 'o:mikrotik:routeros',
    place: 'title',
    pattern: /^routeros/i,
  },
  {
    name: 'openwrt',
    vendor: 'OpenWrt',
    cpe: 'o:openwrt:openwrt',
    place: 'title',
    pattern: /- luci$|^openwrt/i,
  },
  { name: 'fritz-box', vendor: 'AVM', place: 'title', pattern: /^fritz!/i },
  { name: 'unifi', vendor: 'Ubiquiti', place: 'title', pattern: /^unifi/i },
  { name: 'pfsense', vendor: 'Netgate', place: 'title', pattern: /pfsense/i },
  { name: 'opnsense', vendor: 'Deciso', place: 'title', pattern: /opnsense/i },
  {
    name: 'synology-dsm',
    vendor: 'Synology',
    cpe: 'a:synology:diskstation_manager',
    place: 'title',
    pattern: /synology|diskstation/i,
  },
  { name: 'qnap-qts', vendor: 'QNAP', place: 'title', pattern: /^qnap|qts/i },
  { name: 'truenas', vendor: 'iXsystems', place: 'title', pattern: /^truenas/i },
  { name: 'idrac', vendor: 'Dell', place: 'title', pattern: /idrac/i },
  { name: 'ilo', vendor: 'HPE', place: SERVER, pattern: /^hpe-ilo-server\/([\d.]+)|^hp-ilo/i },
  { name: 'apc-ups', vendor: 'Schneider Electric', place: 'realm', pattern: /\bapc\b/i },
  // cameras
  {
    name: 'hikvision-camera',
    vendor: 'Hikvision',
    place: SERVER,
    pattern: /^(?:hikvision-webs|app-webs)/i,
  },
  { name: 'axis-camera', vendor: 'Axis', place: 'realm', pattern: /^axis_/i },
  { name: 'axis-camera', vendor: 'Axis', place: 'title', pattern: /\baxis\b.{0,40}camera/i },
  { name: 'dahua-camera', vendor: 'Dahua', place: SERVER, pattern: /^dahua/i },
]
