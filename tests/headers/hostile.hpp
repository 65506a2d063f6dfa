// Macros that other people's headers are known to define, or that a careless program defines, each to something that no
// source survives. What seqpar includes from others has been included before (foreign.hpp, written by the build), so
// only seqpar's own text meets them.

#define SEQPAR_HOSTILE @a hostile macro was expanded @

// <complex.h>. (Other single letters are names of template parameters, as in most libraries: no header can be met by all.)
#define I SEQPAR_HOSTILE

// <windows.h> and its friends
#define min(a, b) SEQPAR_HOSTILE
#define max(a, b) SEQPAR_HOSTILE
#define small SEQPAR_HOSTILE
#define near SEQPAR_HOSTILE
#define far SEQPAR_HOSTILE
#define interface SEQPAR_HOSTILE
#define IN SEQPAR_HOSTILE
#define OUT SEQPAR_HOSTILE
#define ERROR SEQPAR_HOSTILE
#define DELETE SEQPAR_HOSTILE

// <sys/sysmacros.h>, <termios.h>, <ctype.h>, gcc's predefined names
#undef major
#undef minor
#undef unix
#undef linux
#define major(x) SEQPAR_HOSTILE
#define minor(x) SEQPAR_HOSTILE
#define B0 SEQPAR_HOSTILE
#define _B SEQPAR_HOSTILE
#define _L SEQPAR_HOSTILE
#define _N SEQPAR_HOSTILE
#define unix SEQPAR_HOSTILE
#define linux SEQPAR_HOSTILE

// Qt; its `slots` is missing here, since that is a word of seqpar's interface (define QT_NO_KEYWORDS)
#define emit SEQPAR_HOSTILE
#define signals SEQPAR_HOSTILE

// logging, assertion and test libraries
#define CHECK(...) SEQPAR_HOSTILE
#define LOG(...) SEQPAR_HOSTILE
#define DCHECK(...) SEQPAR_HOSTILE
#define FAIL(...) SEQPAR_HOSTILE
#define TEST(...) SEQPAR_HOSTILE
#define DEBUG SEQPAR_HOSTILE
#define OK SEQPAR_HOSTILE
