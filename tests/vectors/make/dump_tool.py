"""Makes dump-tool-VERSION.jsonl: a segment of group records with members made by hand, and what Kafka's dump tool shows of them.

usage: dump_tool.py KAFKA VERSION > dump-tool-VERSION.jsonl    (KAFKA: ../shared/kafka/kafka; needs a JDK)
"""
import re,subprocess,tempfile,pathlib
import struct,sys,json,base64
T=[]
for i in range(256):
    c=i
    for _ in range(8): c=(c>>1)^(0x82F63B78 if c&1 else 0)
    T.append(c)
def crc(b):
    c=0xFFFFFFFF
    for x in b: c=T[(c^x)&255]^(c>>8)
    return c^0xFFFFFFFF
def zz(n):
    u=(n<<1)^(n>>63); u&=(1<<64)-1; o=b''
    while u>=128: o+=bytes([u&127|128]); u>>=7
    return o+bytes([u])
S=lambda s: struct.pack('>h',-1) if s is None else struct.pack('>h',len(s))+s
I=lambda n: struct.pack('>i',n)
H=lambda n: struct.pack('>h',n)
B=lambda b: I(-1) if b is None else I(len(b))+b
def batch(off,k,v):
    rec=b'\0'+zz(0)+zz(0)+zz(len(k))+k+zz(len(v))+v+zz(0)
    rec=zz(len(rec))+rec
    tail=struct.pack('>hiqqqhii',0,0,1000,1000,-1,-1,-1,1)+rec
    body=struct.pack('>ib',0,2)+struct.pack('>I',crc(tail))+tail
    return struct.pack('>qi',off,len(body))+body
def group(name,sub,asg,pt=b'consumer',proto=b'range'):
    k=H(2)+S(name.encode())
    v=H(3)+S(pt)+I(1)+S(proto)+S(b'm')+struct.pack('>q',5)+I(1)+S(b'm')+S(None)+S(b'c')+S(b'h')+I(1)+I(2)+B(sub)+B(asg)
    return k,v
tp=lambda *t: I(len(t))+b''.join(S(n)+I(len(p))+b''.join(map(I,p)) for n,p in t)
topics=lambda *t: I(len(t))+b''.join(map(S,t))
s0=topics(b't')+B(None); s1=s0+tp((b't',[0,1])); s2=s1+I(7); s3=s2+S(b'rk')
asg0=tp((b't',[0]))+B(None)
A=lambda v,x=b'': H(v)+asg0+x
cases={}
for v,body in enumerate((s0,s1,s2,s3)):
    cases[f'sub v{v}']=(H(v)+body,A(v))
    cases[f'sub v{v} trailing']=(H(v)+body+b'abc',A(v,b'xyz'))
    cases[f'sub v{v} short']=(H(v)+[b'',s0,s1,s2][v],A(v)[:-1])
for v in (4,5,7,127,32767,-1,-5): cases[f'sub v{v}']=(H(v)+s3+b'12345678'*(v==7),A(v,b'q'*(v==7)))
cases['v4 exact v0 body']=(H(4)+s0,A(4))
cases['v4 short of rack']=(H(4)+s2,A(4))
cases['both empty']=(b'',b'')
cases['one byte']=(b'\0',b'\0')
cases['version only']=(H(0),H(0))
cases['v0 userdata empty']=(H(0)+topics(b't')+B(b''),H(0)+tp((b't',[]))+B(b''))
cases['null topic']=(H(0)+I(1)+S(None)+B(None),H(0)+I(1)+S(None)+I(0)+B(None))
cases['neg str len -2']=(H(0)+I(1)+H(-2)+B(None),H(0)+I(1)+H(-2)+I(0)+B(None))
cases['null array']=(H(0)+I(-1)+B(None),H(0)+I(-1)+B(None))
cases['neg array']=(H(0)+I(-2)+B(None),H(0)+I(-2)+B(None))
cases['userdata -2']=(H(0)+topics(b't')+I(-2),H(0)+tp()+I(-2))
cases['userdata -2 v1']=(H(1)+topics(b't')+I(-2)+tp(),H(1)+tp()+I(-2))
cases['null owned']=(H(1)+s0+I(-1),H(1)+tp((b't',[]))[:-4]+I(-1)+B(None))
cases['rack -2']=(H(3)+s2+H(-2),A(0))
cases['rack empty']=(H(3)+s2+S(b''),A(0))
cases['rack long']=(H(3)+s2+H(9),A(0))
cases['big count']=(H(0)+I(0x7fffffff)+B(None),H(0)+I(0x7fffffff)+B(None))
cases['count over remaining by one topic']=(H(0)+I(2)+S(b't')+B(None),H(0)+I(2)+S(b't')+I(0)+B(None))
cases['nonutf8']=(H(0)+topics(b'a\xffb')+B(None),H(0)+tp((b'a\xff\xfe',[1]))+B(b'\xff'))
cases['ctrl']=(H(0)+topics(b'a"\x01\xe2\x82\xac')+B(None),H(0)+tp((b'a/\x7f',[-1]))+B(b'\xff'))
cases['same topic twice']=(H(1)+topics(b't',b't')+B(None)+tp((b't',[0]),(b't',[0,0])),H(1)+tp((b't',[0]),(b't',[1]))+B(None))
cases['sub bad asg good']=(H(3)+s2,A(3))
cases['sub good asg bad']=(H(3)+s3,A(3)[:-1])
g={}
for n,(s,a) in cases.items(): g[n]=(s,a,b'consumer',b'range')
g['ptype Consumer']=(H(0)+s0,A(0),b'Consumer',b'range')
g['ptype empty']=(H(0)+s0,A(0),b'',b'range')
g['ptype connect']=(H(0)+s0,A(0),b'connect',b'range')
g['proto null']=(H(0)+s0,A(0),b'consumer',None)
out=b''
for i,(n,(s,a,p,q)) in enumerate(g.items()): out+=batch(i,*group(n,s,a,p,q))
kafka,version=sys.argv[1:]
with tempfile.TemporaryDirectory() as tmp:
    log=pathlib.Path(tmp,'__consumer_offsets-0/00000000000000000000.log'); log.parent.mkdir(); log.write_bytes(out)
    shown=subprocess.run([kafka,'run',version,'dump-log','--offsets-decoder','--files',log],capture_output=True,check=True).stdout.decode()
for line in shown.split('\n'):
    m=re.search(r'key: \{"type":"2","data":\{"group":"([^"]*)"\}\} payload: .*"sessionTimeout":2,"subscription":(.*),"assignment":(.*)\}\]\}\}$',line)
    if m and not m[1].startswith('ptype'):
        s,a=(base64.b64encode(x).decode() for x in g[m[1]][:2])
        print(json.dumps({"case":m[1],"subscription":s,"assignment":a,"shownSubscription":m[2],"shownAssignment":m[3]},ensure_ascii=False))
